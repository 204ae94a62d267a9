"""Makes a class: the submissions of its students, as Gradescope exports them.

    python -m tests.classroom.make_class FOLDER --submissions 40 --zip

The same arguments make the same class. Exit codes: 0 done, 2 wrong usage.
"""

import argparse
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from classroom.submissions import Student
from tests.classroom.contents import Files, contents, export, pack

# Per cent of each kind; a small class has at least one of each.
SHARES = {"right": 50, "wrong": 25, "starter": 10, "attack": 7, "upload": 8}
EXPORT = "assignment_4711_export"
FIRST_AT = datetime(2026, 11, 2, 9, 0, 0, 365935, timezone(timedelta(hours=-8)))
# The first students' names, of whom two have the same.
ODD = (
    "Maria Silva",
    "Maria Silva",
    "عمر الخطيب",
    "Byron, Ada",
    "=HYPERLINK(1)",
    "李 小龙",
    "Null",
    'O\'Brien: "Bob" #1',
    "Søren Ångström",
    "Zoe\u0301 Decomposed",
    "mononym",
    "ด.ช. สมชาย ใจดี",
    "Юлия Ёлкина",
    "- Dash",
    "<b>Bold</b> & Sons",
    "👩‍🔬 Emoji",
    "N" * 300,
)


@dataclass(frozen=True)
class Made:
    """A generated submission."""

    number: int  # on Gradescope; earlier attempts have the ones before
    people: tuple[Student, ...]
    kind: str  # of what is handed in; see `contents`
    files: Files
    at: datetime
    attempts: int


def make_class(folder: Path, count: int, trained: Path | None = None) -> tuple[Path, list[Made]]:
    """Make a class with `count` submissions in a folder; return its export, and what is in it.

    Args:
        trained: a folder with *.params and *.predictions, which submissions whose code runs get.
    """
    paths = [*trained.glob("*.params"), *trained.glob("*.predictions")] if trained else []
    outputs = {path.name: path.read_bytes() for path in sorted(paths)}
    source, made = folder / EXPORT, _planned(count)
    for each in made:
        files = each.files
        if each.kind in ("right", "wrong"):
            files = files | outputs
        earlier = [
            {":id": each.number - before, ":created_at": each.at - timedelta(hours=9 * before)}
            for before in range(1, each.attempts)
        ]
        export(source, each.number, each.people, each.at, files, **{":history": earlier})
    return source, made


def _planned(count: int) -> list[Made]:
    """Return who hands in what and when, some in groups, some for the third time."""
    draw, everybody = random.Random("1 people"), _people()
    made = []
    for index, (kind, make) in enumerate(_chosen(count)):
        size = draw.choice((2, 3)) if index % 8 == 7 else 1
        members = tuple(next(everybody) for _ in range(size))
        number = 61_000_003 + 1_000 * index + draw.randrange(900)
        at = FIRST_AT + timedelta(minutes=17 * index)
        made.append(Made(number, members, kind, make(), at, 3 if index % 5 == 4 else 1))
    return made


def _people() -> Iterator[Student]:
    """Yield students, some with unusual names, some without a student ID."""
    for number in itertools.count():
        sid = None if number % 13 == 12 else f"0{number + 5000}"  # the leading zero must survive
        name = ODD[number] if number < len(ODD) else f"Ordinary Student {number}"
        email = f"student{number}@example.edu"
        yield Student(email, name, email, sid)


def _chosen(count: int) -> list[tuple[str, Callable[[], Files]]]:
    """Return what is handed in; a new golden variant only affects the choice within its kind."""
    chosen = []
    for kind, makers in contents().items():
        wanted = max(1, round(SHARES[kind] * count / 100))
        some = random.Random(f"1 {kind}").sample(makers, len(makers))
        chosen += [(kind, some[index % len(some)]) for index in range(wanted)]
    random.Random("1 order").shuffle(chosen)
    chosen += [("right", contents()["right"][0])] * max(0, count - len(chosen))
    return chosen[:count]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.classroom.make_class",
        description="Make a class of generated submissions, as Gradescope exports it.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument(
        "--submissions", type=int, default=40, metavar="N", help="how many; default: 40"
    )
    parser.add_argument("--zip", action="store_true", help="pack the export, as it is downloaded")
    asked = parser.parse_args()
    if (asked.folder / EXPORT).exists():
        parser.error(f"{asked.folder / EXPORT} exists; expected a new folder")
    source, made = make_class(asked.folder, asked.submissions)
    if asked.zip:
        source = pack(source, asked.folder)
    print(f"{source}: {len(made)} submissions")


if __name__ == "__main__":
    main()
