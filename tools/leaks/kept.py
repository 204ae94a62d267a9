"""The secrets that no file for students may contain."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.description import graded_topics, load_assignment

from ..datafiles import GRADING_SECRET, REPO, SEED, TEST_ANSWERS
from ..regions import find_regions
from . import latex
from .allowed import ALLOWED
from .forms import letters, squeezed
from .latex import Piece

LONG = 25  # characters other than white space; a line of so many is searched for by itself
SHORTEST_PAIR = 16  # of two lines in a row: "else:" and "return x" may be anywhere
SENTENCE = 40  # letters; shorter sentences may occur by chance
SHORTEST_SEED = 8  # digits; shorter numbers are in any text; `make world` draws seeds of about 19
SCRIPT = 100  # consecutive characters: single lines of staff's scripts are everyday code
HIDDEN = Path("solutions/hidden")
IMPORTED = ("from questions.", "from grading.")  # students' files have the same imports
TRUTH = Path("solutions/submission")
WRITTEN = Path("solutions/written")
ANSWERS = Path("handout/answers")  # kept from students where an edition gives points for them


@dataclass(frozen=True)
class Secret:
    """A text that is kept from students, in the form for comparison, and its source."""

    text: str
    source: str
    prose: bool = False  # letters only (see forms.letters), else without white space


def secrets_of(repo: Path = REPO, allowed: dict[str, str] = ALLOWED) -> list[Secret]:
    """Return every secret that no artefact for students may contain.

    Args:
        repo: the project.
        allowed: lines and sentences that students may read nevertheless, by reason.

    Raises:
        OSError: a file of the solutions can't be read.
        RegionError: the markers of the reference are malformed.
    """
    found = [*_of_code(repo), *_of_answers(repo), *_of_written(repo)]
    for name in (SEED, GRADING_SECRET):
        if (repo / name).exists():
            seed = _read(repo / name).strip()
            found += [Secret(seed, name)] if len(seed) >= SHORTEST_SEED else []
    lines = [line for text in allowed.values() for line in text.splitlines()]
    public = {form(line) for form in (squeezed, letters) for line in lines}
    return [secret for secret in found if secret.text not in public]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _of_code(repo: Path) -> Iterator[Secret]:
    """Yield the reference's regions, what hidden tests assert, the scripts of written answers."""
    for path in sorted((repo / TRUTH).glob("*.py")):
        text, name = _read(path), (TRUTH / path.name).as_posix()
        lines = text.split("\n")
        for region in find_regions(text, name):
            yield from _of_lines(lines[region.start : region.end - 1], name, region.start + 1)
    for path in sorted((repo / HIDDEN).glob("*.py")):
        lines = ["" if line.startswith(IMPORTED) else line for line in _read(path).split("\n")]
        yield from _of_lines(lines, (HIDDEN / path.name).as_posix(), 1)
    for path in sorted((repo / WRITTEN).rglob("*.py")):
        pieces = [Piece(line, number) for number, line in enumerate(_read(path).split("\n"), 1)]
        for piece in _joined(pieces, squeezed, SCRIPT):
            name = path.relative_to(repo).as_posix()
            yield Secret(squeezed(piece.text), f"{name}, from line {piece.line}")


def _of_lines(lines: list[str], name: str, first: int) -> Iterator[Secret]:
    """Yield long lines, and pairs of shorter ones in a row; comments count as code."""
    before = ""
    for number, line in enumerate(lines, first):
        text = squeezed(line)
        if len(text) >= LONG:
            yield Secret(text, f"{name}, line {number}")
        elif before and text and len(before + text) >= SHORTEST_PAIR:
            yield Secret(before + text, f"{name}, lines {number - 1} and {number}")
        before = text if text and len(text) < LONG else ""


def _of_answers(repo: Path) -> Iterator[Secret]:
    """Yield each question of the test split with its place, whatever is written between the two."""
    if (repo / TEST_ANSWERS).exists():
        for number, row in enumerate(_read(repo / TEST_ANSWERS).splitlines(), 1):
            yield Secret(letters(row), f"{TEST_ANSWERS}, line {number}", prose=True)


def _of_written(repo: Path) -> Iterator[Secret]:
    """Yield the sentences and formulas of the written answers, their rubrics, the list of slips."""
    paths = sorted((repo / WRITTEN).rglob("*"))
    if answers := sorted((repo / ANSWERS).glob("*.tex.j2")):
        graded = graded_topics(load_assignment(repo))
        paths += [path for path in answers if path.name.removesuffix(".tex.j2") in graded]
    for path in paths:
        if path.name.endswith((".tex", ".tex.j2")):
            yield from of_latex(_read(path), path.relative_to(repo).as_posix())


def of_latex(source: str, name: str) -> Iterator[Secret]:
    """Yield the sentences and formulas of a source, which may be a template."""
    for run in latex.sentences(source):
        for piece in _joined(run, letters, SENTENCE):
            yield Secret(letters(piece.text), f"{name}, line {piece.line}", prose=True)
    for run in latex.formulas(source):
        for piece in _joined(run, _formula, LONG):
            yield Secret(_formula(piece.text), f"{name}, line {piece.line}")


def _formula(text: str) -> str:
    """Return a formula less what depends on its surroundings: alignment, punctuation, line ends."""
    return squeezed(text).strip("&").rstrip("&\\.,;")


def _joined(pieces: list[Piece], form: Callable[[str], str], least: int) -> Iterator[Piece]:
    """Yield groups of neighbours that are long enough in a form, but not without their ends."""
    start, last = 0, -1
    for end in range(1, len(pieces) + 1):
        while len(form(_text(pieces[start + 1 : end]))) >= least:
            start += 1
        text = _text(pieces[start:end])
        if start != last and len(form(text)) >= least:
            yield Piece(text, pieces[start].line)
            last = start


def _text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)
