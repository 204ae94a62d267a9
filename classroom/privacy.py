"""`forget` and `purge`: remove what is no longer needed from a class's folder.

`forget` removes a student from class.db, and the pages that commands can write again. Then it looks
for the student in all that is left in DIR, and lists what it can't change. Somebody who is no
longer on the roll is looked for by the command's own words, so that it can be run again to check.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shlex
import unicodedata
import zipfile
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

from autograder.isolation.leftovers import remove_tree
from grading.errors import SubmissionError, UsageError
from grading.upload import GZIP_HEAD, OTHER_HEADS, UTF8_NAME, archive_errors
from grading.verdicts import ExitCode

from . import times
from .arguments import USUAL, Commands, add_command, add_folder, count
from .old_folder import BEFORE
from .store import DATABASE, LOCK, Store, workshop

SHORTEST = 3  # shorter words are everywhere
ONE_WORD = 6  # letters, from which a word may be a whole name
WIDE = ("utf-16-le", "utf-16-be")
CODINGS = ("cp1252", "cp1250", "cp1251", "cp1256", "cp850", "mac_roman", "gb18030", "shift_jis")
PACKED = (*OTHER_HEADS, GZIP_HEAD, b"%PDF", b"PK\3\4")  # how files begin whose text can't be read
WINDOW, OVERLAP = 1 << 24, 1 << 13  # bytes that are searched at once; more than any name has
DEEPEST, MOST_WINDOWS = 5, 256  # zips in each other, and what is searched of a file
LETTERS = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "_": " "}
)


def plain(text: str) -> str:
    """Return a text's words, each between blanks, without case, accents, punctuation, escapes."""
    if "\\u" in text:  # JSON
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    text = html.unescape(text).casefold()
    if not text.isascii():
        text = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return " ".join(["", *re.findall(r"[^\W_]+", text.translate(LETTERS)), ""])


def spellings(texts: Iterable[str]) -> set[str]:
    """Return how names, addresses and IDs may be written, as `plain` writes it.

    Platforms write `Ada Byron`, `Byron, Ada` and `byronada`; spreadsheets remove zeros.
    """
    spelled = set()
    for text in texts:
        spelled.add(plain(text))
        words = plain(text).split()
        for place in range(len(words) if len(text.split()) > 1 else 0):  # of a name
            turned = words[place:] + words[:place]
            spelled |= {f" {' '.join(turned)} ", f" {''.join(turned)} "}
        if text.isdecimal():
            spelled.add(plain(text.lstrip("0")))
    return {each for each in spelled if len(each.strip()) >= SHORTEST}


def in_parts(texts: Iterable[str]) -> list[re.Pattern[str]]:
    """Return what finds, as `plain` writes it, a name that Canvas made one word of.

    Where `byronada` comes from isn't known: from `Byron, Ada`, or from something else.
    """
    patterns = []
    for letters in (plain(text).strip() for text in texts if text.isalpha()):
        if len(letters) >= ONE_WORD:
            turned = (letters[place:] + letters[:place] for place in range(len(letters)))
            patterns += [re.compile(f" {' ?'.join(each)} ") for each in turned]
    return patterns


class Search:
    """Looks for a student in everything that a class's folder contains."""

    def __init__(self, spelled: set[str], names: Iterable[re.Pattern[str]] = ()) -> None:
        self._spelled, self._names = sorted(spelled), [*names]
        self._windows = 0  # that may be searched of this file

    def tables(self, store: Store) -> Iterator[tuple[Path, str]]:
        """Yield how many rows of each table name the student; those of the roll are others'."""
        for (table,) in store.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            rows = store.db.execute(f"SELECT * FROM {table}") if table != "students" else ()
            naming = sum(any(self._is_in(str(cell)) for cell in row) for row in rows)
            if naming:
                what = f"names the student in {count(naming, 'row')} of {table}"
                yield store.path / DATABASE, what

    def files(self, top: Path) -> Iterator[tuple[Path, str]]:
        """Yield each file and folder that names the student, or can't be searched."""
        for place, folders, files in os.walk(top):
            folders.sort()
            for path in (Path(place, name) for name in [*folders, *sorted(files)]):
                if self._is_in_bytes(os.fsencode(path.name)):
                    yield path, "names the student in its own name"
                elif path.is_file() and not path.is_symlink() and path != top / DATABASE:
                    self._windows = MOST_WINDOWS
                    try:
                        with open(path, "rb") as file:
                            if self._is_in_file(file, path.name):
                                yield path, "names the student"
                    except (SubmissionError, OSError) as error:
                        yield path, f"can't be searched ({error!s:.200})"

    def _is_in_file(self, file: IO[bytes], name: str, depth: int = 0) -> bool:
        """Return whether a file, or one in it if it is a zip, names the student."""
        with archive_errors(name):
            if zipfile.is_zipfile(file) and depth < DEEPEST:
                with zipfile.ZipFile(file) as packed:
                    return any(self._is_in_member(packed, i, depth) for i in packed.infolist())
            file.seek(0)
            before, window = b"", file.read(WINDOW)
            if window.startswith(PACKED) or depth == DEEPEST:
                raise SubmissionError("it is packed in a way that can't be searched")
            while window:
                self._windows -= 1
                if self._windows < 0:
                    raise SubmissionError("there is too much in it")
                if self._is_in_bytes(before + window):
                    return True
                before, window = window[-OVERLAP:], file.read(WINDOW)
        return False

    def _is_in_member(self, packed: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int) -> bool:
        coding = "utf-8" if info.flag_bits & UTF8_NAME else "cp437"
        if self._is_in_bytes(info.filename.encode(coding)):
            return True
        with packed.open(info) as member:
            return self._is_in_file(member, info.filename, depth + 1)

    def _is_in_bytes(self, content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        codings = WIDE if b"\0" in content else CODINGS if "\ufffd" in text else ()
        texts = (content.decode(coding, "replace") for coding in codings)
        return self._is_in(text) or any(map(self._is_in, texts))

    def _is_in(self, text: str) -> bool:
        words = plain(text)
        return any(spelling in words for spelling in self._spelled) or any(
            name.search(words) for name in self._names
        )


# The commands -------------------------------------------------------------------------------------

ELSEWHERE = "The download and all other copies are left alone: delete them yourself."
PAGES = {"report": "report", "similar": "similar", "regrades": "regrade"}  # and who writes them
# Of a folder of the earlier form: what is in class.db now, or can be written again.
IMPORTED = ("records", "roll.json", "pseudonyms.json", "report-anonymous", *PAGES)
MOST_KEYS = 10  # in a message
# Columns that say about whom a row is.
NAMING = {
    "decisions": "student, iif(kind = 'same_as', value, '')",
    "written": "name, sid, email",
}


def add_to(commands: Commands) -> None:
    """Add both commands."""
    forget = add_command(
        commands,
        "forget",
        run_forget,
        "remove a student from a class's folder",
        "Remove a student, with the submissions that nobody else took part in, or a submission, "
        f"and name what is left of the student in DIR. {ELSEWHERE}",
        USUAL.replace("0 done,", "0 done, 1 done, but something in DIR still names the student,"),
    )
    forget.add_argument(
        "words",
        nargs="+",
        metavar="STUDENT",
        help="an e-mail address, an ID, a full name, several of these for one student, or the id "
        "of a submission",
    )
    purge = add_command(
        commands,
        "purge",
        run_purge,
        "remove submissions from before a date from a class's folder",
        "Remove submissions that were handed in before a date. If the time of one isn't known, the "
        f"date of its newest record counts. {ELSEWHERE}",
    )
    purge.add_argument(
        "--before",
        required=True,
        metavar="DATE",
        help="such as 2027-01-31, optionally with a time; without a zone, in the course's",
    )
    for command in (forget, purge):
        add_folder(command, "--in")


def run_forget(asked: argparse.Namespace) -> int:
    """Forget a student or a submission; return 1 if something still names the student."""
    words: list[str] = asked.words
    with Store.existing(asked.folder, writes=True) as store:
        known = {row["id"] for row in store.rows("SELECT id FROM submissions")}
        submissions = [word for word in words if word in known]
        mentions = _mentions(store)
        person = _meant(mentions, [word for word in words if word not in known])
        if person:
            submissions += _alone(store, [one.student for one in person])
            words = [*dict.fromkeys([*words, *submissions, *_texts(person)])]
        others = spellings(_texts([one for one in mentions if one not in person]))
        words = [word for word in words if spellings([word]) - others]
        if not words:
            raise UsageError(f"{shlex.join(asked.words)} can't be looked for: expected another ID")
        if person or submissions:
            _remove(store, submissions, person)
        search = Search(spellings(words) - others, in_parts(words))
        _remove_pages(store.path, [n for n in PAGES if any(search.files(store.path / n))])
        left = [*search.tables(store), *search.files(store.path)]
    for path, what in left:
        print(f"{path} {what}: correct or remove it")
    if not person and not submissions:
        print(f"{shlex.join(words)}: not on the roll{'' if left else ', and in none of the files'}")
    if left:
        print(f"To check: python -m classroom forget {shlex.join(words)} --in {asked.folder}")
    print(ELSEWHERE)
    return ExitCode.FAILED if left else ExitCode.OK


def run_purge(asked: argparse.Namespace) -> int:
    """Remove everything from before a date."""
    zone = times.course_zone()
    try:
        before = datetime.fromisoformat(asked.before)
    except ValueError:
        raise UsageError(f"--before {asked.before!r} should be a date such as 2027-01-31") from None
    before = before if before.tzinfo else before.replace(tzinfo=zone)
    with Store.existing(asked.folder, writes=True) as store:
        old = store.rows(
            "SELECT id FROM submissions WHERE coalesce(submitted, "
            "(SELECT max(at) FROM records WHERE submission = submissions.id)) < ? ORDER BY id",
            times.stored(before),
        )
        if old:
            _remove(store, [row["id"] for row in old])
        ((kept,),) = store.rows("SELECT count(*) FROM submissions")
    removed = count(len(old), "submission")
    print(f"{removed} from before {times.shown(before, zone)} removed, {kept} kept.")
    others = sorted({path.name for path in asked.folder.iterdir()} - {DATABASE, LOCK})
    if others:
        print(f"{', '.join(others)} in {asked.folder} may still name students: look yourself.")
    print(ELSEWHERE)
    return ExitCode.OK


# Who is meant -------------------------------------------------------------------------------------


class _Mention(NamedTuple):
    """What a row of the roll, or of the written scores, says about somebody."""

    student: int | None
    name: str
    ids: frozenset[tuple[str, str]]


def _mentions(store: Store) -> list[_Mention]:
    mentions = []
    for table in ("students", "written"):
        for row in store.rows(f"SELECT * FROM {table}"):
            # A key is an address or an ID; numbers of a platform may be others' student IDs.
            kinds = {*row.keys()} & {"key", "email", "sid", "login", "canvas_id", "moodle_id"}
            ids = {(kind if kind.endswith("_id") else "", row[kind]) for kind in kinds if row[kind]}
            student = row["id"] if table == "students" else None
            mentions.append(_Mention(student, row["name"], frozenset(ids)))
    for row in store.rows("SELECT student, value FROM decisions WHERE kind = 'same_as'"):
        ids = {pair for one in mentions for pair in one.ids if pair[1] in (*row,)}
        mentions.append(_Mention(None, "", frozenset({("", row[0]), ("", row[1]), *ids})))
    return [*dict.fromkeys(mentions)]


def _texts(mentions: Collection[_Mention]) -> list[str]:
    """Return all names and IDs."""
    texts = {value for one in mentions for _, value in one.ids} | {one.name for one in mentions}
    return sorted(texts - {""})


def _meant(mentions: list[_Mention], words: list[str]) -> list[_Mention]:
    """Return the mentions of the one person that all words mean; none if nobody is on the roll."""
    everybody = []
    for word in words:
        text, bare = plain(word), word.strip().lstrip("0")
        likely = [one for one in mentions if text in {plain(value) for _, value in one.ids}]
        likely = likely or [one for one in mentions if spellings([word]) & spellings([one.name])]
        person = _same_person(mentions, likely[:1])
        likely += [one for one in mentions if bare in {value.lstrip("0") for _, value in one.ids}]
        if not person:
            likely += [one for one in mentions if any(text in plain(t) for t in _texts([one]))]
        if any(one not in person for one in likely):
            keys = sorted({min(_texts([one]), key=lambda text: "@" not in text) for one in likely})
            shown = ", ".join(keys[:MOST_KEYS]) + ", ..." * (len(keys) > MOST_KEYS)
            raise UsageError(f"{word!r:.200} may mean any of {shown}: use one of these")
        everybody.append(person)
    if any(person != everybody[0] for person in everybody):
        raise UsageError(f"{shlex.join(words)} don't mean the same student: use only one of them")
    return everybody[0] if everybody else []


def _same_person(mentions: list[_Mention], person: list[_Mention]) -> list[_Mention]:
    """Return the mentions that share an ID with these, or else a name that nobody else has."""
    while True:
        ids = {pair for one in person for pair in one.ids}
        more = [one for one in mentions if one in person or one.ids & ids]
        if more == person:
            break
        person = more
    names = spellings(one.name for one in person)
    named = [one for one in mentions if one not in person and names & spellings([one.name])]
    return person + (named if all(one.student is None for one in named) else [])


# Removing -----------------------------------------------------------------------------------------


def _alone(store: Store, students: list[int | None]) -> list[str]:
    """Return the submissions of these students in which nobody else took part; print the others."""
    rows = store.rows("SELECT submission, student FROM authors")
    theirs = {row["submission"] for row in rows if row["student"] in students}
    shared = {row["submission"] for row in rows if row["student"] not in students}
    for submission in sorted(theirs & shared):
        print(f"{submission}: student removed from the roll; the group's records stay")
    return sorted(theirs - shared)


def _roll(store: Store) -> set[_Mention]:
    return {one for one in _mentions(store) if one.student is not None}


def _remove(store: Store, submissions: list[str], person: Collection[_Mention] = ()) -> None:
    """Remove submissions, a student, pages, and what was decided about people who are gone."""
    with store.transaction():
        roll = _roll(store)
        for key in submissions:
            ((records,),) = store.rows("SELECT count(*) FROM records WHERE submission = ?", key)
            store.db.execute("DELETE FROM submissions WHERE id = ?", (key,))
            print(f"{key} removed, with {count(records, 'record')}")
        for one in person:
            store.db.execute("DELETE FROM students WHERE id = ?", (one.student,))
        store.db.execute("DELETE FROM students WHERE id NOT IN (SELECT student FROM authors)")
        store.choose()
        kept = _roll(store)
        gone = spellings([*submissions, *_texts((roll | {*person}) - kept)])
        gone -= spellings(_texts(kept))
        for table, columns in NAMING.items():
            rows = store.rows(f"SELECT rowid, {columns} FROM {table}")
            places = [(row,) for row, *cells in rows if any(plain(cell) in gone for cell in cells)]
            store.db.executemany(f"DELETE FROM {table} WHERE rowid = ?", places)
            if places:
                print(f"{table}: {count(len(places), 'row')} removed")
    store.compact()
    _remove_pages(store.path)


def _remove_pages(folder: Path, names: Iterable[str] = tuple(PAGES)) -> None:
    """Remove pages, and what was imported from the folder's earlier form."""
    for name in names:
        for path in filter(Path.is_dir, (folder / name, workshop(folder / name))):
            remove_tree(path)
            print(f"{path.name}/ removed; `{PAGES[name]}` writes it again without what was removed")
    for path in filter(Path.exists, (folder / BEFORE / name for name in IMPORTED)):
        remove_tree(path) if path.is_dir() else path.unlink()
        print(f"{BEFORE}/{path.name} removed; what counts of it is in {DATABASE}")
