"""Span corruption: forms of single items, and statistics of many."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading import corruption


def span_corruption_block_sizes(case: Any, runs: list[dict]) -> None:
    _read_all(case, runs, strict=True)


def span_corruption_short_documents(case: Any, runs: list[dict]) -> None:
    _read_all(case, runs, strict=True)


def span_corruption_any_alphabet(case: Any, vocabulary: dict, runs: list[dict]) -> None:
    itos = corruption.expected_vocabulary(runs[0]["documents"])
    case.expect(
        vocabulary["itos"] == itos and vocabulary["stoi_agrees"],
        "the vocabulary is not PAD, MASK and the sorted characters of the whole text",
        got=vocabulary["itos"],
        expected=itos,
    )
    _read_all(case, runs)


def _read_all(case: Any, runs: list[dict], strict: bool = False) -> list[corruption.Example]:
    """Read all examples; `strict`: with all that is pinned about single items."""
    examples = []
    for run in runs:
        try:
            examples += corruption.read_examples(**run, form=strict, bounds=strict)
        except corruption.Malformed as wrong:
            block_size = run["block_size"]
            case.fail(wrong.sentence, got=wrong.got, expected=wrong.expected, block_size=block_size)
    return examples


def span_corruption_every_length(case: Any, runs: list[dict]) -> None:
    """Each possible length occurs at least once in 2,172 draws of a document at block_size 32.

    Each has probability at least 1/(4*32) = 1/128. One of 25 lengths is missed with probability at
    most 25 (1 - 1/128)^2172 < 1e-6; of the short document's 10, less.
    """
    for run in runs:
        seen = {e.truncated for e in _read_all(case, [run])}
        most = corruption.longest(run["documents"][0], run["block_size"])
        missing = sorted(set(range(corruption.SHORTEST, most + 1)) - seen)
        case.expect(
            not missing,
            "some length that a document may be truncated to never occurs; every one from 4 to "
            "min(len(document), int(block_size*7/8)) should",
            missing=missing,
            document_length=len(run["documents"][0]),
        )


def span_corruption_span_share(case: Any, examples: list[dict]) -> None:
    """The mean of span/T lies in 0.22 to 0.28 over 8,000 draws with T >= 40.

    Shares lie in [0, 1] with mean m, so that their variance is at most m (1 - m) <= 0.1875 at
    m = .25, and Bernstein's bound on a deviation of 0.03 is 2 exp(-8000 * 0.03^2 /
    (2 (0.1875 + 0.01))) < 2.5e-8. Rounding the span down shifts m to .237 at worst (T = 40 to 43:
    less than 1/40 * 1/2 on average): uniform spans then have variance 0.021, and 0.017 is missed
    with probability 2 exp(-8000 * 0.017^2 / (2 (0.021 + 0.006))) < 1e-18.

    A code may prefer short prefixes, and yield fewer. But each length has probability 1/512 or
    more, so that draws from our 18 short documents have T >= 40 with probability 21/512 or more,
    from the 6 long ones with 73/512, together .066: a share below .05 among 12,000 draws or more
    has probability below exp(-797 * .24^2 / 2) < 1e-9 (Chernoff). Then at least 3,000 remain of
    60,000, for which 0.20 to 0.30 is missed with probability 2 exp(-3000 * 0.05^2 /
    (2 (0.1875 + 0.017))) < 3e-8.
    """
    every = _read_all(case, examples)
    shares = [e.span / e.truncated for e in every if e.truncated >= 40][:8000]
    case.expect(
        len(shares) >= min(0.05 * len(every), 8000),
        "documents are (almost) never truncated to 40 characters or more, where they could be",
        got=f"{len(shares)} of {len(every)} draws",
    )
    low, high = (0.22, 0.28) if len(shares) == 8000 else (0.20, 0.30)
    mean = float(np.mean(shares))
    case.expect(
        low <= mean <= high,
        "the masked span is not a quarter of the truncated document on average (is it a quarter "
        "of the real length, after truncation?)",
        got=mean,
        expected=f"{low} to {high}",
    )


def span_corruption_span_random(case: Any, runs: list[dict]) -> None:
    """Given T, the span's length is random: see `_expect_not_constant`."""
    _expect_not_constant(
        case,
        [(e.truncated, e.span) for e in _read_all(case, runs) if e.truncated >= 8],
        "the masked span always has the same length for documents of one length",
    )


def span_corruption_position(case: Any, runs: list[dict]) -> None:
    """The span starts in each half of its room with probability at least 1/10.

    Of n = 4,000 draws less than 0.07 n start there with probability at most
    exp(-0.1 n * 0.3^2 / 2) < 2e-8 (Chernoff). Draws that leave no room (the span is the whole
    document) don't count; at most one in eight may be such for the bound to stay below 1e-6.
    """
    examples = [e for e in _read_all(case, runs) if e.truncated > e.span]
    relative = np.array([e.start / (e.truncated - e.span) for e in examples])
    for share, half in ((np.mean(relative < 0.5), "first"), (np.mean(relative > 0.5), "second")):
        case.expect(
            share >= 0.07,
            f"the masked span (almost) never starts in the {half} half of where it could",
            got=float(share),
            expected="at least 0.1",
        )
    _expect_not_constant(
        case,
        [((e.truncated, e.span), e.start) for e in examples if e.truncated - e.span >= 6],
        "the masked span always starts at the same place for a given length",
    )


def _expect_not_constant(case: Any, pairs: list[tuple], sentence: str) -> None:
    """Among draws with the same first entry, the second one varies.

    Over all groups of 10 draws or more, less than 98 % may have their group's commonest value.
    Where no value has more than 90 %, n draws reach 98 % with probability at most
    exp(-n D(.98 || .9)) = exp(-0.051 n) (Chernoff): below 3e-7 from 300 on. Fewer aren't judged.
    """
    groups: dict[Any, list] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    large = [values for values in groups.values() if len(values) >= 10]
    commonest = sum(max(values.count(v) for v in set(values)) for values in large)
    total = sum(map(len, large))
    case.expect(
        total < 300 or commonest / total < 0.98,
        sentence,
        got=f"{commonest} of {total} draws have the commonest value of their group",
    )
