"""Where planted copies rank among solutions that nobody copied, and how long a class takes.

    python -m benchmarks.similarity               ranks of planted copies, as a table
    python -m benchmarks.similarity --time 1000   the time for a class of 1,000, on one core

The class is 100 generated solutions (`independent.py`; --solutions), the golden variants, and one
copy of some of the solutions, disguised in one way each (`copies.py`). A golden variant is the
reference with one region changed, by the same hand as the next: pairs of two of them count neither
as copies nor as independent. All others that aren't planted are independent.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.copies import KINDS, disguised
from benchmarks.independent import solution
from tests.variants import all_variants, lay_out
from tools.classroom.__main__ import main as classroom
from tools.classroom.similarity import texts
from tools.classroom.similarity.index import Entry, Index, entry_of
from tools.classroom.similarity.tokens import View

COPIES = 12  # of each kind, of other solutions each
Texts = dict[str, str]


@dataclass(frozen=True)
class Planted:
    """A class with copies in it.

    Attributes:
        entries: solutions, then golden variants, then copies.
        solutions: how many of them are generated.
        copies: (the original, the copy) by kind.
    """

    entries: list[Entry]
    solutions: int
    copies: dict[str, list[tuple[int, int]]]


def planted(solutions: int, copies: int, golden: bool = True) -> Planted:
    """Make a class; the same arguments make the same one."""
    known = texts.known_code()
    made = [solution(seed) for seed in range(solutions)]
    entries = [_entry(f"solution {i}", files, known) for i, files in enumerate(made)]
    if golden:
        entries += [_entry(name, files, known) for name, files in golden_variants()]
    pairs: dict[str, list[tuple[int, int]]] = {}
    for number, kind in enumerate(KINDS):
        for i in range(copies):
            # Each solution is copied once at most, as long as there are enough of them.
            original = (number * copies + i) % solutions
            copy = disguised(made[original], kind, seed=i)
            pairs.setdefault(kind, []).append((original, len(entries)))
            entries.append(_entry(f"{kind} {i}", copy, known))
    return Planted(entries, solutions, pairs)


def _entry(name: str, files: Texts, known: texts.Known) -> Entry:
    pieces = [
        piece
        for file, text in files.items()
        for piece in texts.pieces_of(file.rpartition("/")[2], text, known)
    ]
    return entry_of(name, frozenset([name]), False, pieces, known)


def golden_variants() -> list[tuple[str, Texts]]:
    """Return the modules of each golden variant, by its name."""
    found = []
    for variant in all_variants():
        with tempfile.TemporaryDirectory() as folder:
            package = lay_out(variant, Path(folder)) / "submission"
            files = {p.name: p.read_text(encoding="utf-8") for p in sorted(package.glob("*.py"))}
        found.append((variant.name, files))
    return found


@dataclass(frozen=True)
class Ranks:
    """What became of one kind of copies in one view.

    Attributes:
        scores: of the copies, the lowest first.
        above: for each, how many independent pairs score as high or higher.
    """

    scores: list[float]
    above: list[int]


def ranks(made: Planted, view: View) -> tuple[np.ndarray, np.ndarray, dict[str, Ranks]]:
    """Return the scores of all independent pairs, those without golden variants, and ranks.

    Scores are sorted. A golden variant, all of which but a region is the reference's, has little
    that anybody could share: what is usual is seen without them.
    """
    scores = Index(made.entries, view).scores()
    copied = {pair for pairs in made.copies.values() for pair in pairs}
    first_copy = len(made.entries) - len(copied)
    independent = np.array(scores)
    independent[made.solutions : first_copy, made.solutions : first_copy] = -1
    for one, two in copied:
        independent[one, two] = -1
    usual = np.sort(independent[independent >= 0])
    independent[made.solutions : first_copy] = -1
    independent[:, made.solutions : first_copy] = -1
    generated = np.sort(independent[independent >= 0])
    found = {}
    for kind, pairs in made.copies.items():
        theirs = sorted(float(scores[pair]) for pair in pairs)
        above = [len(usual) - int(np.searchsorted(usual, score)) for score in theirs]
        found[kind] = Ranks(theirs, above)
    return usual, generated, found


def table(made: Planted) -> str:
    """Return both views as a table in Markdown."""
    lines = []
    for view in View:
        usual, generated, found = ranks(made, view)
        median, most, nearly_all = np.quantile(generated, [0.5, 0.99, 0.999])
        lines += [
            "",
            f"**{view.value.capitalize()}**: of {len(usual):,} independent pairs, "
            f"{len(generated):,} are of two generated solutions. These have a median of "
            f"{median:.2f}; 99 % are below {most:.2f}, 99.9 % below {nearly_all:.2f}. The highest "
            f"score of all is {usual[-1]:.2f}.",
            "",
            "| copies | lowest score | median | above all independent pairs | independent pairs "
            "above the lowest |",
            "|---|---|---|---|---|",
        ]
        for kind, each in found.items():
            middle = each.scores[len(each.scores) // 2]
            first = sum(count == 0 for count in each.above)
            lines.append(
                f"| {kind} | {each.scores[0]:.2f} | {middle:.2f} | {first} of {len(each.above)} | "
                f"{each.above[0]} |"
            )
    return "\n".join(lines[1:])


def timed(submissions: int) -> str:
    """Return how long the command takes for a class of code, in CPU seconds of this process."""
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
    parser.add_argument("--solutions", type=int, default=100)
    parser.add_argument("--copies", type=int, default=COPIES, help="of each kind")
    parser.add_argument("--time", type=int, metavar="N", help="time a class of N instead")
    asked = parser.parse_args()
    print(timed(asked.time) if asked.time else table(planted(asked.solutions, asked.copies)))


if __name__ == "__main__":
    main()
