"""Measures where planted copies rank among solutions that nobody copied, and how long it takes.

    python -m benchmarks.similarity               print the ranks of planted copies as a table
    python -m benchmarks.similarity --time 1000   time a class of 1,000, on one core

The class consists of 100 generated solutions (`independent.py`; --solutions), the golden variants,
and a copy of some of the solutions, each disguised in one way (`copies.py`). Golden variants are
the reference with one region changed, all by the same author, so pairs of two of them count neither
as copies nor as independent. All other pairs that aren't planted are independent.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.copies import KINDS, disguised
from benchmarks.independent import solution
from classroom.__main__ import main as classroom
from classroom.similar.pages import LEAST
from classroom.similar.ranking import Entry, Index, comparable
from classroom.similar.texts import VIEWS, Known, Text
from tests.variants import all_variants, lay_out

COPIES = 12  # of each kind, all of different solutions
Texts = dict[str, str]


@dataclass(frozen=True)
class Planted:
    """A class with copies in it.

    Attributes:
        entries: the generated solutions, then the golden variants, then the copies.
        solutions: the number of generated solutions.
        copies: (original, copy) by kind, as indexes of entries.
    """

    entries: list[Entry]
    solutions: int
    copies: dict[str, list[tuple[int, int]]]


def planted(solutions: int, copies: int, golden: bool = True) -> Planted:
    """Return a class; the same arguments give the same class."""
    known = Known()
    made = [solution(seed) for seed in range(solutions)]
    entries = [_entry(f"solution {i}", files, known) for i, files in enumerate(made)]
    if golden:
        entries += [_entry(name, files, known) for name, files in golden_variants()]
    pairs: dict[str, list[tuple[int, int]]] = {}
    for number, kind in enumerate(KINDS):
        for i in range(copies):
            # If there are enough solutions, each is copied at most once.
            original = (number * copies + i) % solutions
            copy = disguised(made[original], kind, seed=i)
            pairs.setdefault(kind, []).append((original, len(entries)))
            entries.append(_entry(f"{kind} {i}", copy, known))
    return Planted(entries, solutions, pairs)


def _entry(name: str, files: Texts, known: Known) -> Entry:
    entry = Entry(name, frozenset([name]))
    for file, text in files.items():
        entry.add(Text(file.rpartition("/")[2], text, known), known)
    return entry


def golden_variants() -> Iterator[tuple[str, Texts]]:
    """Yield the modules of each golden variant, after its name."""
    for variant in all_variants():
        with tempfile.TemporaryDirectory() as folder:
            package = lay_out(variant, Path(folder)) / "submission"
            files = {p.name: p.read_text(encoding="utf-8") for p in sorted(package.glob("*.py"))}
        yield variant.name, files


def ranks(made: Planted, view: str) -> tuple[np.ndarray, np.ndarray, dict[str, list[float]]]:
    """Return the scores of independent pairs, of those without golden variants, and of the copies.

    All are sorted. Almost everything in a golden variant is the reference's, so it has little that
    others could share. The scores without golden variants therefore show what is usual.
    """
    scores = Index(made.entries, view, LEAST[view]).scores()
    independent = np.where(comparable(made.entries), scores, -1)
    golden = slice(made.solutions, min(min(map(max, pairs)) for pairs in made.copies.values()))
    independent[golden, golden] = -1
    for pairs in made.copies.values():
        independent[tuple(zip(*pairs, strict=True))] = -1
    usual = np.sort(independent[independent >= 0])
    independent[golden] = independent[:, golden] = -1
    copies = {
        kind: sorted(float(scores[pair]) for pair in pairs) for kind, pairs in made.copies.items()
    }
    return usual, np.sort(independent[independent >= 0]), copies


def above(usual: np.ndarray, score: float) -> int:
    """Return how many independent pairs have the same or a higher score."""
    return len(usual) - int(np.searchsorted(usual, score))


def table(made: Planted) -> str:
    """Return a table in Markdown for each view."""
    lines = []
    for view in VIEWS:
        usual, generated, copies = ranks(made, view)
        median, most, nearly_all = np.quantile(generated, [0.5, 0.99, 0.999])
        lines += [
            "",
            f"**{view.capitalize()}**: {len(generated):,} of {len(usual):,} independent "
            f"pairs consist of two generated solutions. Their median score is {median:.2f}; 99 % "
            f"are below {most:.2f}, and 99.9 % below {nearly_all:.2f}. The highest score of all "
            f"independent pairs is {usual[-1]:.2f}.",
            "",
            "| copies | lowest score | median | above all independent pairs | independent pairs "
            "above the lowest |",
            "|---|---|---|---|---|",
        ]
        for kind, each in copies.items():
            first = sum(not above(usual, score) for score in each)
            lines.append(
                f"| {kind} | {each[0]:.2f} | {each[len(each) // 2]:.2f} | {first} of {len(each)} | "
                f"{above(usual, each[0])} |"
            )
    return "\n".join(lines[1:])


def timed(submissions: int) -> str:
    """Return how long the command takes for a class without parameters, in CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "class")
        for seed in range(submissions):
            for name, text in solution(seed).items():
                path = source / f"{seed:05}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        started = time.process_time()
        code = classroom(["similar", str(source), "--into", str(Path(folder, "out"))])
        took_s = time.process_time() - started
        pages = sum(1 for _ in Path(folder, "out", "similar").rglob("*.html"))
    if code != 0:
        raise SystemExit(code)
    return f"{submissions:,} submissions: {took_s:.1f} s of CPU, {pages} pages"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--solutions",
        type=int,
        default=100,
        metavar="N",
        help="how many solutions to generate; default: 100",
    )
    parser.add_argument(
        "--copies",
        type=int,
        default=COPIES,
        metavar="N",
        help=f"how many copies of each kind; default: {COPIES}",
    )
    parser.add_argument("--time", type=int, metavar="N", help="only time a class of N submissions")
    asked = parser.parse_args()
    print(timed(asked.time) if asked.time else table(planted(asked.solutions, asked.copies)))


if __name__ == "__main__":
    main()
