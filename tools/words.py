"""Read the word lists of the generated world, `tools/wordlists/*.txt`.

Each has one entry per line, in UTF-8; empty lines and lines that start with # are ignored. The
rules that the lists keep are checked by tests/test_world.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from autograder.description import UsageError

WORDLISTS = Path(__file__).resolve().parent / "wordlists"
LINES_A_PERSON = 4


@dataclass(frozen=True)
class Words:
    """All word lists; an attribute is the name of its file. No list has an entry twice.

    Attributes:
        first_names, last_names: names without spaces. Ignoring case, no first name is the ending
            and no last name the beginning of another, so no full name is part of another.
        cities: birth places, London first.
        occupations: with their article ("an actor").
        places: further places, none of them a birth place.
        templates: sentences with {name} and {city}, and some with {year}, {job}, {a_job} or
            {place}; their number is a multiple of LINES_A_PERSON, and they contain all letters of
            a question.
    """

    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    cities: tuple[str, ...]
    occupations: tuple[str, ...]
    places: tuple[str, ...]
    templates: tuple[str, ...]

    @property
    def full_names(self) -> list[str]:
        """Every first name with every last name."""
        return [f"{first} {last}" for first in self.first_names for last in self.last_names]


def load_words(folder: Path = WORDLISTS) -> Words:
    """Read all word lists.

    Raises:
        UsageError: a list can't be read.
    """
    return Words(*(read_list(folder / f"{each.name}.txt") for each in fields(Words)))


def read_list(path: Path) -> tuple[str, ...]:
    """Return a list's entries, in the file's order."""
    try:
        rows = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read: {error}") from error
    return tuple(row for row in rows if row.strip() and not row.startswith("#"))


def new_names(names: Iterable[str], vocabulary: set[str], taken: str) -> Iterator[str]:
    """Yield the names that don't occur in the text `taken` and have only known characters."""
    return (name for name in names if vocabulary.issuperset(name) and name not in taken)
