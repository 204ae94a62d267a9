"""Makes a class: the submissions of its students, as Gradescope exports them.

    python -m tests.classroom.make_class FOLDER --submissions 40 --zip

The same arguments make the same class. Exit codes: 0 done, 2 wrong usage.
"""

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import yaml

from tests.classroom.contents import Content, contents, lay, pack

# Per cent of each kind; a small class has at least one of each.
SHARES = {"right": 40, "wrong": 25, "starter": 10, "layout": 10, "attack": 7, "upload": 8}
EXPORT = "assignment_4711_export"
PACIFIC = timezone(timedelta(hours=-8))
FIRST_AT = datetime(2026, 11, 2, 9, 0, 0, 365935, PACIFIC)
FIRST = """Amina Bram Chiara Dmitri Elif Farah Goran Hana Ikram Jonas Kofi Lucía Mina
Noor Oskar Priya Quentin Rosa Sofía Tariq Ursula Valentina Wanjiru Xiomara Yusuf Zoë""".split()
LAST = """Abebe Bianchi Castro Dubois Eriksen Fischer García Haddad Ivanova Jensen
Kowalski Lindqvist Moreau Nakamura Okafor Petrov Quispe Rossi Schmidt Tanaka Ueda Vargas
Weber Xu Yıldız Zeman""".split()
# In the order in which they are used, so small classes have the first ones.
ODD = (
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
TWINS = "Maria Silva"  # two students have this name


@dataclass(frozen=True)
class Person:
    """A student; `number` is the platform's."""

    number: int
    name: str
    email: str
    sid: str | None


@dataclass(frozen=True)
class Made:
    """A generated submission.

    Attributes:
        number: the submission's number on Gradescope.
        earlier: the numbers of earlier attempts.
    """

    number: int
    people: tuple[Person, ...]
    content: Content
    at: datetime
    earlier: tuple[int, ...] = ()


@dataclass(frozen=True)
class MadeClass:
    """Where the class is, and what is in it."""

    source: Path
    submissions: tuple[Made, ...]


def make_class(
    folder: Path,
    count: int,
    trained: Path | None = None,
    packed: bool = False,
) -> MadeClass:
    """Make a class with `count` submissions in an empty folder.

    Args:
        packed: whether to make a zip.
        trained: a folder with *.params and *.predictions for submissions that would be right with
            them.
    """
    made = _planned(count)
    found = sorted([*trained.glob("*.params"), *trained.glob("*.predictions")]) if trained else []
    outputs = {path.name: path.read_bytes() for path in found}
    source = folder / EXPORT
    source.mkdir(parents=True)
    with open(source / "submission_metadata.yml", "w", encoding="utf-8") as file:
        file.write("---\n")
        for each in made:
            runs = each.content.kind in ("right", "wrong", "layout")
            files = each.content.files | (outputs if runs else {})
            lay(source / f"submission_{each.number}", replace(each.content, files=files))
            file.write(_metadata(each))
    return MadeClass(pack(source, folder) if packed else source, tuple(made))


def _planned(count: int) -> list[Made]:
    """Return who hands in what and when, some in groups, some for the third time."""
    chosen = _chosen(count)
    rng = random.Random("1 people")
    sizes = [rng.choice((2, 3)) if index % 8 == 7 else 1 for index in range(count)]
    everybody = iter(_people(sum(sizes), rng))
    numbers = iter(sorted(rng.sample(range(10_000_000, 99_999_999), 3 * count)))
    made = []
    for index, (make, size) in enumerate(zip(chosen, sizes, strict=True)):
        members = tuple(next(everybody) for _ in range(size))
        first, second, third = next(numbers), next(numbers), next(numbers)
        at = FIRST_AT + timedelta(minutes=17 * index)
        made.append(Made(third, members, make(), at, (first, second) if index % 5 == 4 else ()))
    return made


def _people(count: int, rng: random.Random) -> list[Person]:
    """Return students: two with the same name, some unusual names, some without a student ID."""
    names = [TWINS, TWINS, *ODD][:count]
    while len(names) < count:
        names.append(f"{rng.choice(FIRST)} {rng.choice(LAST)}")
    rng.shuffle(names)
    numbers = rng.sample(range(100_000, 999_999), count)
    return [
        Person(
            number,
            name,
            f"student{number}@example.edu",
            None if index % 13 == 12 else f"0{number}",  # the leading zero must survive
        )
        for index, (number, name) in enumerate(zip(numbers, names, strict=True))
    ]


def _chosen(count: int) -> list[Callable[[], Content]]:
    """Return what is handed in; a new golden variant only affects the choice within its kind."""
    chosen: list[Callable[[], Content]] = []
    for kind, makers in contents().items():
        wanted = max(1, round(SHARES[kind] * count / 100))
        some = random.Random(f"1 {kind}").sample(makers, len(makers))
        chosen += [some[index % len(some)] for index in range(wanted)]
    random.Random("1 order").shuffle(chosen)
    chosen += [contents()["right"][0]] * max(0, count - len(chosen))
    return chosen[:count]


# -- Gradescope's metadata -------------------------------------------------------------------------


class _Time(str):
    """A time as Ruby writes it: nanoseconds, and a space before the zone."""


class _Ruby(yaml.SafeDumper):
    """Writes no anchors for equal texts; times and texts of several lines as Ruby does."""

    def ignore_aliases(self, data) -> bool:
        return True


_Ruby.add_representer(
    _Time, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:timestamp", str(text))
)
_Ruby.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def _metadata(made: Made) -> str:
    """Return the entry of a submission."""
    scores = [20.5 + 10 * index for index in range(len(made.earlier) + 1)]
    history = [
        {":id": number} | _recorded(made.at - timedelta(hours=9 - index), score)
        for index, (number, score) in enumerate(zip(made.earlier, scores, strict=False))
    ]
    entry = {
        ":submitters": [
            {":name": person.name}
            | ({":sid": person.sid} if person.sid else {})
            | {":email": person.email}
            for person in made.people
        ]
    }
    entry |= _recorded(made.at, scores[-1]) | {":history": history}
    return yaml.dump(
        {f"submission_{made.number}": entry}, Dumper=_Ruby, allow_unicode=True, sort_keys=False
    )


def _recorded(at: datetime, score: float) -> dict:
    output = "Your draws of spans: \u2047 mean 0.25, expected 0.22 to 0.28\n" * 3
    if score < 25:  # the autograder failed: no tests and no score
        results: dict = {"output": "The autograder failed to execute correctly.\n" + output}
    else:
        tests = [
            {"name": f"1e-{n}-basic", "score": 4.0, "max_score": 4.0, "output": output}
            for n in range(4)
        ]
        results = {"score": score, "execution_time": 61, "tests": tests}
    stamp = at.strftime("%Y-%m-%d %H:%M:%S.%f000 ") + at.strftime("%z")[:3] + ":00"
    status = "processed" if "tests" in results else "failed"
    return {
        ":created_at": _Time(stamp),
        ":score": score,
        ":status": status,
        ":results": results,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.classroom.make_class",
        description="Make a class of generated submissions, as Gradescope exports it.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument(
        "--submissions", type=int, default=40, metavar="N", help="how many; default: 40"
    )
    parser.add_argument("--zip", action="store_true", help="pack the export, as it is downloaded")
    asked = parser.parse_args(arguments)
    if asked.folder.exists() and any(asked.folder.iterdir()):
        parser.error(f"{asked.folder} is not empty")
    if asked.submissions < 1:
        parser.error(f"--submissions {asked.submissions} should be 1 or more")
    made = make_class(asked.folder, asked.submissions, packed=asked.zip)
    print(f"{made.source}: {len(made.submissions)} submissions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
