"""Read and check the word lists of the generated world, `tools/wordlists/*.txt`.

Each has one entry per line, in UTF-8; empty lines and lines that start with # are ignored.
"""

import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.datafiles import MASK_CHAR, PAD_CHAR, DataError, question

WORDLISTS = Path(__file__).resolve().parent / "wordlists"
FIELDS = {"name", "city", "year", "job", "a_job", "place"}
LINES_A_PERSON = 4


@dataclass(frozen=True)
class Words:
    """All word lists, checked.

    Attributes:
        first, last: names without spaces. Ignoring case, no first name is the ending and no last
            name the beginning of another, so no full name is part of another full name.
        cities: birth places, London first.
        occupations: with their article ("an actor").
        places: further places, none of them a birth place.
        templates: sentences with FIELDS; their number is a multiple of LINES_A_PERSON.
    """

    first: tuple[str, ...]
    last: tuple[str, ...]
    cities: tuple[str, ...]
    occupations: tuple[str, ...]
    places: tuple[str, ...]
    templates: tuple[str, ...]

    @property
    def full_names(self) -> list[str]:
        """Every first name with every last name."""
        return [f"{first} {last}" for first in self.first for last in self.last]


def load_words(folder: Path = WORDLISTS) -> Words:
    """Read all word lists.

    Raises:
        DataError: a list is missing or breaks a rule above; the message has file and line.
    """
    first = read_list(folder / "first_names.txt")
    last = read_list(folder / "last_names.txt")
    cities = read_list(folder / "cities.txt")
    occupations = read_list(folder / "occupations.txt")
    places = read_list(folder / "places.txt")
    templates = read_list(folder / "templates.txt")
    _check_names(first, folder / "first_names.txt", "ending", str.endswith)
    _check_names(last, folder / "last_names.txt", "beginning", str.startswith)
    _check_places(cities, places, folder)
    _check_occupations(occupations, folder / "occupations.txt")
    _check_templates(templates, folder / "templates.txt")
    return Words(*map(tuple, (first, last, cities, occupations, places, templates)))


def read_list(path: Path) -> dict[str, int]:
    """Read one list.

    Returns:
        Entry to line number, in the file's order.
    """
    try:
        rows = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: can't be read: {error}") from error
    entries: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if not row.strip() or row.startswith("#"):
            continue
        where = f"{path}:{number}"
        if row != row.strip() or any(char in row for char in "\t\r" + MASK_CHAR + PAD_CHAR):
            raise DataError(f"{where}: {row!r} has white space around it or a reserved character")
        # Each accented letter has one spelling: a decomposed one would be two characters to the
        # model, and would not equal an answer that looks the same.
        if not unicodedata.is_normalized("NFC", row):
            raise DataError(f"{where}: {row!r} contains decomposed accents: save it as Unicode NFC")
        if row in entries:
            raise DataError(f"{where}: {row!r} is already on line {entries[row]}")
        entries[row] = number
    if not entries:
        raise DataError(f"{path}: expected one entry per line, found none")
    return entries


def _check_names(
    names: dict[str, int], path: Path, part: str, holds: Callable[[str, str], bool]
) -> None:
    """Reject names with spaces, and names that are part of another, according to `holds`."""
    folded = {name: name.casefold() for name in names}
    for name, number in names.items():
        if " " in name:
            raise DataError(f"{path}:{number}: {name!r} has a space; expected a single word")
        for other in names:
            if other != name and holds(folded[other], folded[name]):
                raise DataError(f"{path}:{number}: {name!r} is the {part} of {other!r}: drop one")


def _check_places(cities: dict[str, int], places: dict[str, int], folder: Path) -> None:
    if next(iter(cities)) != "London":
        raise DataError(f"{folder / 'cities.txt'}: expected London as the first entry")
    for place, number in places.items():
        for city in cities:
            if place in city or city in place:
                raise DataError(
                    f"{folder / 'places.txt'}:{number}: {place!r} would read like the birth "
                    f"place {city!r}: drop one"
                )


def _check_occupations(occupations: dict[str, int], path: Path) -> None:
    for occupation, number in occupations.items():
        if not occupation.startswith(("a ", "an ")):
            raise DataError(f"{path}:{number}: got {occupation!r}, expected 'a ...' or 'an ...'")


def _check_templates(templates: dict[str, int], path: Path) -> None:
    for template, number in templates.items():
        try:
            fields = [field for _, field, _, _ in string.Formatter().parse(template) if field]
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error} in {template!r}") from error
        if fields.count("name") != 1 or fields.count("city") != 1 or set(fields) - FIELDS:
            raise DataError(
                f"{path}:{number}: got the fields {fields}, expected {{name}} and {{city}} once "
                f"each, and else only {', '.join(sorted(FIELDS - {'name', 'city'}))}"
            )
    if len(templates) % LINES_A_PERSON:
        raise DataError(
            f"{path}: got {len(templates)} sentences, expected a multiple of {LINES_A_PERSON}"
        )
    missing = set(question("")) - set("".join(fixed_text(template) for template in templates))
    if missing:
        raise DataError(
            f"{path}: no sentence contains {''.join(sorted(missing))!r} of {question('...')!r}: "
            "a model that knows only the corpus's characters could not read the question"
        )


def fixed_text(template: str) -> str:
    """Return a template's text without its fields."""
    return "".join(text for text, _, _, _ in string.Formatter().parse(template))


def new_names(names: Iterable[str], vocabulary: set[str], taken: str) -> Iterator[str]:
    """Yield the names that don't occur in the text `taken` and have only known characters."""
    return (name for name in names if vocabulary.issuperset(name) and name not in taken)
