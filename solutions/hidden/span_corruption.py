"""Span corruption: forms of single items, and statistics of many.

Tests about items require that every one is right. The others leave malformed items aside as long
as 95 % are well formed (`items.well_formed`), so that a rare mistake costs only the points of its
own test. Each docstring says why a submission gains nothing by that.
"""

from typing import Any

import numpy as np

from questions.span_corruption import items
from questions.span_corruption.tests import SpanCorruption

# The id of each failure, and what a student reads.
SHORT_LENGTHS = (
    "truncation.shortest-missing",
    "a length to which a document may be truncated never occurs: one of the shortest, from 4 on",
)
GREAT_LENGTHS = (
    "truncation.longest-missing",
    "a length to which a document may be truncated never occurs: one of the longest, up to "
    "min(len(document), int(block_size*7/8))",
)
OTHER_LENGTHS = (
    "truncation.length-missing",
    "a length to which a document may be truncated never occurs: one between 4 and the longest",
)
TOO_SHORT = (
    "span.too-short",
    "the masked span is too short: less than a quarter of the truncated document on average",
)
TOO_LONG = (
    "span.too-long",
    "the masked span is too long: more than a quarter of the truncated document on average",
)
OF_THE_REAL_LENGTH = (
    "span.share-in-short-documents",
    "in documents shorter than a block the masked span is not a quarter of the truncated document "
    "on average: is it drawn for the real length, after truncation, and placed within it?",
)
AFTER_TRUNCATION = (
    "span.share-in-long-documents",
    "in documents longer than a block the masked span is not a quarter of the truncated document "
    "on average: is it drawn before the document is truncated?",
)


def _expect_right_items(case: SpanCorruption, runs: list[dict]) -> None:
    """Expect each item to meet everything that is pinned about single items."""
    for run in runs:
        with case.explaining(block_size=run["block_size"]):
            items.check_form(run["drawn"], run["block_size"])
            reading = items.read(**run)
            reading.check_each()
            reading.check_bounds()


span_corruption_block_sizes = _expect_right_items


def span_corruption_short_documents(case: SpanCorruption, runs: list[dict], ends: dict) -> None:
    """Expect right items, and that a blank at a document's end is kept.

    A document of 5 characters is kept whole with probability at least 1/(4*24): in none of 1,400
    draws with probability below (1 - 1/96)^1400 < 5e-7. Where the other document isn't drawn with
    both of its lengths, 4 and 5, something else is wrong, of which other tests tell.
    """
    _expect_right_items(case, [*runs, ends])
    lengths: dict[str, set[int]] = {document: set() for document in ends["documents"]}
    for example in items.read(**ends).examples:
        lengths[example.document].add(example.truncated)
    inside, at_end = lengths.values()
    case.expect(
        5 in at_end or inside != {4, 5},
        "the blank at the end of a document is never there: a document is the whole line (does "
        "`strip` remove it?)",
        id="documents.blank-stripped",
    )


def span_corruption_any_alphabet(case: SpanCorruption, vocabulary: dict, runs: list[dict]) -> None:
    itos, got = items.expected_vocabulary(runs[0]["documents"]), vocabulary["itos"]
    dropped = got == [c for c in itos if c.isascii() or c in itos[:2]]
    id = "vocabulary.characters"
    sentence = "the vocabulary is not PAD, MASK and the sorted characters of the whole text"
    if dropped:
        id = "vocabulary.ascii-only"
        sentence = "the vocabulary lacks the characters that are not ASCII, such as é or 東"
    case.expect(
        got == itos and vocabulary["stoi_agrees"],
        sentence,
        id=id,
        got=got,
        expected=itos,
        missing="".join(c for c in itos if c not in got),
    )
    for run in runs:
        with case.explaining(block_size=run["block_size"]):
            items.read(**run).check_each()


def _well_formed(
    case: SpanCorruption, readings: list[items.Reading], shortest: int = 0
) -> list[items.Example]:
    with case.explaining(block_size=readings[0].block_size):
        return items.well_formed(readings, shortest)


def span_corruption_every_length(case: SpanCorruption, runs: list[dict]) -> None:
    """Expect each possible length at least once in 2,172 draws of a document at block_size 32.

    Each has probability at least 1/(4*32) = 1/128. One of 25 lengths is missed with probability at
    most 25 (1 - 1/128)^2172 < 1e-6, and one of the short document's 10 with less. A length that
    occurs only in malformed items counts as missing.
    """
    for run in runs:
        seen = {e.truncated for e in _well_formed(case, [items.read(**run)])}
        most = items.longest(run["documents"][0], run["block_size"])
        missing = sorted(set(range(items.SHORTEST, most + 1)) - seen)
        id, sentence = _which_lengths(missing, most)
        case.expect(
            not missing,
            sentence,
            id=id,
            missing=missing,
            document_length=len(run["documents"][0]),
        )


def _which_lengths(missing: list[int], most: int) -> tuple[str, str]:
    if most in missing:
        return GREAT_LENGTHS
    return SHORT_LENGTHS if items.SHORTEST in missing else OTHER_LENGTHS


def span_corruption_span_share(
    case: SpanCorruption,
    common: list[items.Reading],
    short: list[items.Reading],
    long: list[items.Reading],
) -> None:
    """Expect a quarter of the truncated document to be masked on average.

    The mean of span/T should be between 0.22 and 0.28 over 8,000 draws with T >= 40 of common
    documents, and between 0.205 and 0.295 over 4,000 with T >= 20 of short and of long ones.

    Shares lie in [0, 1] with mean m, so that their variance is at most m (1 - m) <= 0.1875 at
    m = .25, and Bernstein's bound on a deviation of d among n is 2 exp(-n d^2 / (2 (0.1875 +
    d/3))): with n = 8,000 and d = 0.03 < 2.5e-8, with 4,000 and 0.045 < 1e-8. Rounding the span
    down shifts m to .237 at worst where T >= 40 (T = 40 to 43: less than 1/40 * 1/2 on average);
    uniform spans then have variance 0.021, and 0.017 is missed with probability 2 exp(-8000 *
    0.017^2 / (2 (0.021 + 0.006))) < 1e-18. Where T >= 20 it is .225, with 0.02 to spare for 4,000:
    2 exp(-4000 * 0.02^2 / (2 (0.021 + 0.007))) < 1e-12; and a quarter of T = 23, rounded down,
    with some characters more or less, is .217 with variance 0.003 at most: < 3e-18.

    Code that prefers short prefixes yields fewer such draws. Each length of a common document has
    probability 1/512 or more, so draws from our 18 shorter ones have T >= 40 with probability
    21/512 or more, those from the 6 longer ones with 73/512, together .066: a share below .05
    among 12,000 draws or more has probability below exp(-797 * .24^2 / 2) < 1e-9 (Chernoff). Then
    at least 3,000 remain of 60,000, for which 0.20 to 0.30 is missed with probability 2 exp(-3000
    * 0.05^2 / (2 (0.1875 + 0.017))) < 3e-8. If short or long documents yield fewer than 4,000 but
    at least 1,000, the limits are 0.15 and 0.35: 2 exp(-1000 * 0.1^2 / (2 (0.1875 + 0.034))) <
    1e-9. Fewer than that aren't judged.

    At most one in twenty items with such a T is malformed and left aside. If these were wholly
    masked, the mean of all could be .04 above that of the others; if not masked at all, .013
    below.

    Measured by simulation: correct code has means of .231 to .263 everywhere. A span placed within
    a length drawn first has .15 to .19 in short documents or, if it is moved to their end, .70; a
    span drawn for the whole document has .03 or .96 in long ones. The deciding limit is at least
    four standard errors away from each.
    """
    means = [
        _mean_share(case, common, 40, ((8000, 0.22, 0.28), (0, 0.20, 0.30))),
        _mean_share(case, short, 20, ((4000, 0.205, 0.295), (1000, 0.15, 0.35))),
        _mean_share(case, long, 20, ((4000, 0.205, 0.295), (1000, 0.15, 0.35))),
    ]
    for documents, (mean, *_) in zip(("common", "short", "long"), means, strict=True):
        case.measure(f"mean share, {documents} documents", mean)
    id, sentence = _why_not_a_quarter(means)
    case.expect(
        all(low <= mean <= high for mean, low, high in means),
        sentence,
        id=id,
        got=[mean for mean, _, _ in means],
        expected=[f"{low} to {high}" for _, low, high in means],
    )


Mean = tuple[float, float, float]  # the mean of shares, and the limits for so many of them


def _mean_share(
    case: SpanCorruption,
    readings: list[items.Reading],
    shortest: int,
    limits: tuple[tuple[int, float, float], ...],
) -> Mean:
    """Compute the mean of span/T over draws with T >= shortest.

    Args:
        limits: for several numbers of draws, in decreasing order: the number, the lowest and the
            highest mean. The mean is taken over the first of these numbers at most; with fewer
            draws than the last number it is not judged. If the last number is 0, at least a
            twentieth of all draws must count.
    """
    every = len(_well_formed(case, readings))
    shares = [e.span / e.truncated for e in _well_formed(case, readings, shortest)]
    case.expect(
        limits[-1][0] > 0 or len(shares) >= min(0.05 * every, limits[0][0]),
        "documents are (almost) never truncated to 40 characters or more, although they could be",
        id="truncation.always-short",
        got=f"{len(shares)} of {every} draws",
    )
    for count, low, high in limits:
        if shares and len(shares) >= count:
            return float(np.mean(shares[: limits[0][0]])), low, high
    return 0.25, 0.0, 1.0


def _why_not_a_quarter(means: list[Mean]) -> tuple[str, str]:
    """Say whether spans are too short or too long in all documents, or wrong in some.

    They are wrong in all if all means are alike, or if all are beyond the same limit and long
    documents, whose spans may be placed before truncation, are like common ones.
    """
    (common, *_), (short, *_), (long, lowest, highest) = means
    alike = max(common, short, long) - min(common, short, long) < 0.05
    beyond = [(mean > high) - (mean < low) for mean, low, high in means]
    if alike or (abs(sum(beyond)) == len(means) and abs(long - common) < 0.1):
        return TOO_SHORT if common < 0.25 else TOO_LONG
    return OF_THE_REAL_LENGTH if lowest <= long <= highest else AFTER_TRUNCATION


def span_corruption_span_random(case: SpanCorruption, runs: list[dict]) -> None:
    """Expect the span's length to be random, given T: see `_expect_not_constant`."""
    readings = [items.read(**run) for run in runs]
    _expect_not_constant(
        case,
        [(e.truncated, e.span) for e in _well_formed(case, readings) if e.truncated >= 8],
        "the masked span always has the same length for documents of the same length",
        id="span.constant-length",
    )


def span_corruption_position(case: SpanCorruption, runs: list[dict]) -> None:
    """Expect the span to start in each half of its possible positions with probability >= 1/10.

    Of n = 4,000 draws, fewer than 0.07 n start there with probability at most
    exp(-0.1 n * 0.3^2 / 2) < 2e-8 (Chernoff). Draws that leave no choice (the span is the whole
    document) don't count; they may be at most one in eight for the bound to stay below 1e-6.
    Leaving the malformed items aside, at most one in twenty, raises a half's share by at most a
    twentieth of itself: code with a share of 0.066 may pass.
    """
    readings = [items.read(**run) for run in runs]
    examples = [e for e in _well_formed(case, readings) if e.truncated > e.span]
    relative = np.array([e.start / (e.truncated - e.span) for e in examples])
    shares = {"first": np.mean(relative < 0.5), "second": np.mean(relative > 0.5)}
    middle = np.mean([abs(2 * e.start - (e.truncated - e.span)) <= 2 for e in examples])
    for half, share in shares.items():
        id = f"span.never-in-{half}-half"
        sentence = f"the masked span (almost) never starts in the {half} half of its range"
        if middle > 0.9:
            id, sentence = "span.middle", "the masked span is (almost) always in the middle"
        case.expect(
            bool(share >= 0.07),
            sentence,
            id=id,
            got=float(share),
            expected="at least 0.1",
        )
    _expect_not_constant(
        case,
        [((e.truncated, e.span), e.start) for e in examples if e.truncated - e.span >= 6],
        "the masked span always starts at the same place for a given length",
        id="span.constant-start",
    )


def _expect_not_constant(
    case: SpanCorruption, pairs: list[tuple], sentence: str, *, id: str
) -> None:
    """Expect the second entry to vary among draws with the same first one.

    Over all groups of 10 draws or more, less than 98 % may have their group's commonest value. If
    no value has more than 90 %, n draws reach 98 % with probability at most
    exp(-n D(.98 || .9)) = exp(-0.051 n) (Chernoff): below 3e-7 from 300 on. Fewer draws aren't
    judged. Leaving malformed items aside, at most one in twenty, raises the share of the others by
    at most a twentieth of itself: code whose commonest values are 98.1 % of all is still caught.
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
        id=id,
        got=f"{commonest} of {total} draws have the commonest value of their group",
    )
