"""Reads what a gradebook is made from: a class's folder, and what staff put into DIR/gradebook/.

    written.csv      Gradescope's scores of the written answers; or instead its evaluations, as
                     written.zip or as the folder written/
    canvas.csv       the instructor's own export of Canvas's gradebook
    overrides.csv, extensions.csv, excuses.csv, withheld.csv, late_days.csv, people.csv

Any of them may be missing. A file with any other name is refused, because a misspelt name would
otherwise go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from autograder.description import Course, Edition, Grading, load_assignment
from grading.errors import UsageError, nearest

from ..folder import ClassFolder
from ..table import newest_release
from . import canvas, coding, decisions, written
from .book import Book
from .cells import shown
from .handed import Handed, Item
from .people import Alias, Mention, Person, join

FOLDER = "gradebook"
WRITTEN = ("written.csv", "written.zip", "written")
CANVAS, PEOPLE = "canvas.csv", "people.csv"
KNOWN = (*WRITTEN, CANVAS, *decisions.COLUMNS)


@dataclass(frozen=True)
class Sources:
    """A gradebook, and Canvas's export if there is one."""

    book: Book
    canvas: canvas.Template | None


def read_sources(
    folder: ClassFolder, course: Course, release: str | None = None, latest: bool = False
) -> Sources:
    """Read everything.

    Args:
        release: the release whose records are used; None: the newest.
        latest: whether to use the latest of several submissions by a student; otherwise, several
            are an error.

    Raises:
        UsageError: at the first mistake, with a line about it.
    """
    files = _files(folder.path / FOLDER)
    release = release or newest_release(folder)
    mentions = coding.mentions(folder, release)
    edition = _edition(coding.edition(folder, release))
    worth = {"coding": _coding_worth(mentions)}
    notes: list[str] = []
    parts: tuple[str, ...] = ("coding",)
    if scores := _written(files, edition):
        parts += ("written",)
        mentions += scores.mentions
        worth["written"] = _written_worth(scores, edition, notes)
    elif edition is not None and any(question.written for question in edition.questions):
        notes.append(f"no written scores in {folder.path / FOLDER}: only coding is graded")
    template = canvas.read_template(files[CANVAS]) if CANVAS in files else None
    mentions += template.mentions() if template else []
    aliases: list[Alias] = decisions.read_aliases(files[PEOPLE]) if PEOPLE in files else []
    people, joined = join(mentions, aliases)
    people.sort(key=lambda person: (person.name.casefold(), person.sid, person.email))
    decided = [path for name, path in files.items() if name in decisions.COLUMNS and name != PEOPLE]
    due = course.dates.due
    book = Book(
        grading=course.grading,
        due=due,
        people=tuple(people),
        parts=parts,
        decisions=decisions.read_decisions(decided, people, due),
        worth=worth,
        latest=latest,
        notes=(*notes, *joined, *_alone(people, parts, template is not None)),
    )
    return Sources(book, template)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files in DIR/gradebook/ by name.

    Raises:
        UsageError: if a name is unknown, or several files have written scores.
    """
    if not folder.is_dir():
        return {}
    files = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name.endswith("~"):
            continue  # an editor's
        if path.name not in KNOWN:
            raise UsageError(f"{path}: unknown file{nearest(path.name, KNOWN)}")
        files[path.name] = path
    if len(given := [name for name in WRITTEN if name in files]) > 1:
        raise UsageError(f"{folder} has {' and '.join(given)}: keep only one of them")
    return files


def _edition(name: str) -> Edition | None:
    return load_assignment().edition(name) if name else None


def _written(files: dict[str, Path], edition: Edition | None) -> written.Written | None:
    for name in WRITTEN:
        if name in files:
            questions = edition.questions if edition else ()
            extra = {q.number: q.is_extra_credit for q in questions if q.written}
            return written.read_written(files[name], written.uniformly_extra(extra))
    return None


def _coding_worth(mentions: list[Mention]) -> tuple[Fraction, Fraction]:
    """Return the maximum of regular points and of extra credit, the same in all records."""
    found = set()
    for mention in mentions:
        handed: Handed = mention.said
        if handed.items:
            found.add(tuple(_most(handed.items, is_extra) for is_extra in (False, True)))
    if len(found) > 1:
        amounts = " and ".join(shown(regular) for regular, *_ in sorted(found))
        raise UsageError(
            f"records of one release are worth {amounts} points: grade the class again"
        )
    regular, extra = next(iter(found), (Fraction(0), Fraction(0)))
    return regular, extra


def _most(items: tuple[Item, ...], is_extra: bool) -> Fraction:
    return sum((i.most or Fraction(0) for i in items if i.is_extra == is_extra), Fraction(0))


def _written_worth(
    scores: written.Written, edition: Edition | None, notes: list[str]
) -> tuple[Fraction, Fraction]:
    """Return the same for written answers; add a note if Gradescope has other points."""
    questions = [q for q in edition.questions if q.written] if edition else []
    regular, extra = (
        sum((Fraction(q.written) for q in questions if q.is_extra_credit == is_extra), Fraction(0))
        for is_extra in (False, True)
    )
    if scores.most is not None and edition is not None and scores.most != regular + extra:
        notes.append(
            f"the written answers are worth {shown(scores.most)} points on Gradescope, but "
            f"{shown(regular + extra)} in assignment.toml: the outlines differ"
        )
    return regular, extra


def _alone(people: list[Person], parts: tuple[str, ...], has_canvas: bool) -> Iterator[str]:
    """Yield a note on everybody who is missing in a source."""
    sources = [*parts, *(["canvas"] if has_canvas else [])]
    for person in people:
        missing = [source for source in sources if source not in person.sources]
        if missing:
            places = ", ".join(dict.fromkeys(mention.where for mention in person.mentions))
            yield f"not in {' or '.join(missing)}: {person.label}: {places}"


def with_policy(book: Book, grading: Grading) -> Book:
    """Return the gradebook under another policy."""
    return replace(book, grading=grading)
