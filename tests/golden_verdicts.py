"""The table of verdicts, tests/golden/verdicts.toml: what each test says about each variant.

    python -m tests.golden_verdicts                 compare, print a diff
    python -m tests.golden_verdicts --write         write the table; read the diff before you commit
    python -m tests.golden_verdicts --seed 7 relu   another seed; variants with "relu" in the name
    make seeds                                      the right variants, each with 200 seeds
    make seeds ARGS="--seeds 20 span"               fewer, and variants with "span" in the name

Last, a line for each question and one for all say how many codes were judged, and what follows: if
none of n is misjudged, of all such codes at most 1 - 0.05^(1/n) are, which is just below 3/n, with
95 % confidence (if these n are drawn from them). With another seed, a wrong variant may pass a test
that it fails by chance; a right one must pass: fewer than one false alarm in a million is allowed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import textwrap
import tomllib
from collections.abc import Collection, Iterable
from concurrent.futures import Executor, Future, as_completed
from typing import Any

from autograder.description import load_assignment
from grading.errors import UsageError
from grading.verdicts import TestResult

from .benches import here, open_executor
from .variants import GOLDEN, ROOT, Variant, all_variants, without_files

TABLE = GOLDEN / "verdicts.toml"
SEED = 2024
PASSED = "passed"
UNNAMED = "no entry"
HEADING = """\
# The tests that don't pass each variant, by outcome. Written by `python -m tests.golden_verdicts
# --write`; read every change before you commit it.
"""

Outcomes = dict[str, str]  # test -> outcome's word


def endings(
    variant: Variant | None,
    seed: int,
    order: int | None = None,
    pool: str = "local",
    only: Collection[str] | None = None,
) -> dict[str, TestResult]:
    """Return the result of each test of a variant, or of the reference (None).

    Call it in a process of `open_executor`.

    Args:
        order: the seed of a random order of tests; by default it is the edition's.
        pool: see `benches.POOLS`.
        only: the tests to run, by their names in the table; by default all.
    """
    bench = here(pool)
    tests = variant.tests(bench.tests) if variant else without_files(bench.tests)
    key = variant.key if variant else lambda test: f"{test.spec.topic}.{test.spec.name}"
    named = {key(test): test for test in tests if only is None or key(test) in only}
    shuffled = list(named.values())
    if order is not None:
        random.Random(order).shuffle(shuffled)
    results = bench.verdicts(variant, shuffled, seed)
    return {name: results[test.spec.topic, test.spec.name] for name, test in named.items()}


def outcomes(results: dict[str, TestResult]) -> Outcomes:
    return {test: result.outcome.value for test, result in results.items()}


def submit(
    executor: Executor, variants: Iterable[Variant], seed: int, **given: Any
) -> dict[Variant, Future]:
    """Start all; see `endings`."""
    return {v: executor.submit(endings, v, seed, **given) for v in longest_first(variants)}


def longest_first(variants: Iterable[Variant]) -> list[Variant]:
    """Begin with the corruptions, which take longest."""
    return sorted(variants, key=lambda v: v.topic != "span_corruption")


def grouped(found: Outcomes) -> dict[str, list[str]]:
    """Return all outcomes but `passed`, with their tests: a variant's entry in the table."""
    groups: dict[str, list[str]] = {}
    for test, outcome in found.items():
        if outcome != PASSED:
            groups.setdefault(outcome, []).append(test)
    return groups


def read_table() -> dict[str, dict[str, list[str]]]:
    """Return the table: variant -> outcome -> tests."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def write_table(entries: dict[str, dict[str, list[str]]]) -> None:
    """Write the table, one section per variant, in lines of at most 100 characters."""
    parts = [HEADING]
    for name, groups in sorted((name, groups) for name, groups in entries.items() if groups):
        parts.append(f'\n["{name}"]\n')
        for outcome, tests in groups.items():
            words = ", ".join(f'"{test}"' for test in tests)
            entry = f'"{outcome}" = [{words}]'
            lines = textwrap.wrap(entry, 100, subsequent_indent="    ", break_on_hyphens=False)
            parts += [f"{line}\n" for line in lines]
    TABLE.write_text("".join(parts), encoding="utf-8", newline="\n")


def difference(name: str, expected: dict[str, list[str]] | None, found: Outcomes) -> str:
    """Return the lines in which a verdict differs from the table; "" if none does."""
    wanted = {test: outcome for outcome, tests in (expected or {}).items() for test in tests}
    lines = [
        f"  {test}: {found.get(test, 'no test')} now, {wanted.get(test, UNNAMED)} in the table"
        for test in sorted({*wanted, *found})
        if wanted.get(test, PASSED) != found.get(test)
    ]
    return "\n".join([f"{name}:", *lines]) if lines else ""


def bounds(judged: dict[Variant, Outcomes]) -> list[str]:
    """Return how many codes of each question, and of all, were judged and may be misjudged."""
    lines = []
    for question in (*sorted({variant.question for variant in judged}), "all"):
        words = []
        for kind, is_right in (("right", True), ("wrong", False)):
            codes = [v for v in judged if question in (v.question, "all")]
            ends = [{*judged[v].values()} for v in codes if v.is_right == is_right]
            missed = sum((end == {PASSED}) != is_right for end in ends)
            limit = ""
            if ends and not missed:
                limit = f" (95 % bound: {1 - 0.05 ** (1 / len(ends)):.1%})"
            words.append(f"{missed} of {len(ends)} {kind} codes misjudged{limit}")
        lines.append(f"{question}: {'; '.join(words)}")
    return lines


def try_seeds(executor: Executor, variants: Iterable[Variant], count: int) -> bool:
    """Run the reference and right variants with many seeds, print failures; return if any."""
    codes = [None, *(variant for variant in variants if variant.is_right)]
    runs = list(itertools.product(codes, range(count)))
    futures = {executor.submit(endings, *run): run for run in runs}
    failed = 0
    for done, future in enumerate(as_completed(futures), 1):
        variant, seed = futures[future]
        wrong = {test: r for test, r in future.result().items() if r.outcome.value != PASSED}
        failed += bool(wrong)
        for test, r in wrong.items():
            ended = f"{test} {r.outcome.value}: {r.message} {r.detail}"
            print(f"{variant.name if variant else 'reference'}, --seed {seed}: {ended}", flush=True)
        if done % 100 == 0:
            print(f"{done} of {len(runs)}", flush=True)
    print(f"{len(runs)} runs of {len(codes)} right codes, {failed} with failures")
    return bool(failed)


def main(arguments: list[str] | None = None) -> int:
    """Compare or write; return 1 if something differs, 2 after bad input."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden_verdicts")
    parser.add_argument("pattern", nargs="?", default="", help="part of the variants' names")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="write what was found to the table")
    parser.add_argument("--seeds", type=int, help="try this many on right variants; no table")
    asked = parser.parse_args(arguments)
    chosen = [v for v in all_variants() if asked.pattern in v.name]
    if not chosen:
        parser.error(f"got {asked.pattern!r}, expected part of the name of a variant")
    try:
        load_assignment(ROOT)  # a mistake in it is told here, in one line
    except UsageError as error:
        parser.error(str(error))
    table = read_table()
    entries, differs, judged = dict(table), False, {}
    with open_executor() as executor:
        if asked.seeds:
            return int(try_seeds(executor, chosen, asked.seeds))
        for variant, future in submit(executor, chosen, asked.seed).items():
            found = judged[variant] = outcomes(future.result())
            text = difference(variant.name, table.get(variant.name), found)
            if text:
                differs = True
                print(text, flush=True)
            entries[variant.name] = grouped(found)
    print("\n".join(bounds(judged)))
    if asked.write:
        existing = {variant.name for variant in all_variants()}
        write_table({name: groups for name, groups in entries.items() if name in existing})
    return int(differs and not asked.write)


if __name__ == "__main__":
    sys.exit(main())
