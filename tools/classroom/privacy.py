"""Removes what is no longer needed from a class's folder: `forget STUDENT`, `purge --before DATE`.

Records are removed before entries of the roll, so a command that was cut short can be run again.
"""

from __future__ import annotations

import argparse
import html
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from autograder.isolation.leftovers import remove_tree
from classroom.arguments import count
from grading.errors import UsageError
from grading.verdicts import ExitCode

from .folder import LOCK, RECORDS, ROLL, ClassFolder, written_at
from .parsers import USUAL, Commands, add_command, add_in
from .similarity import storage
from .submissions import RollEntry, Student, same, utc

ELSEWHERE = "The download and all other copies are left alone: delete them yourself."
LEFTOVERS = 1  # exit code: something else in DIR still names the student


def add_to(commands: Commands) -> None:
    """Add both commands."""
    forget = add_command(
        commands,
        "forget",
        run_forget,
        "remove a student from a class's folder",
        "Remove a student from the roll, together with the records of all submissions that nobody "
        f"else took part in. {ELSEWHERE}",
        USUAL.replace("0 done,", "0 done, 1 done, but other files still name the student,"),
    )
    forget.add_argument(
        "student", metavar="STUDENT", help="an e-mail address, a student ID or a full name"
    )
    add_in(forget)
    purge = add_command(
        commands,
        "purge",
        run_purge,
        "remove submissions from before a date from a class's folder",
        "Remove submissions that were handed in before a date from the roll, together with their "
        "records. If the time of a submission isn't known, the date of its newest record counts. "
        f"{ELSEWHERE}",
    )
    purge.add_argument(
        "--before",
        required=True,
        metavar="DATE",
        help="such as 2027-01-31, optionally with a time; without a time zone, it is in UTC",
    )
    add_in(purge)


def run_forget(asked: argparse.Namespace) -> int:
    """Forget a student; return 1 if another file still names the student."""
    folder = ClassFolder.existing(asked.folder)
    with folder.locked():
        roll = folder.roll()
        student = _one(roll, asked.student)
        for submission_id, entry in sorted(roll.items()):
            others = tuple(one for one in entry.students if one.key != student.key)
            if len(others) == len(entry.students):
                continue
            if others:
                roll[submission_id] = replace(entry, students=others)
                print(f"{submission_id}: student removed from the roll; the group's records stay")
            else:
                _remove(folder, roll, submission_id)
        folder.write_roll(roll)
        _remove_pages(folder)
        still = _mentions(folder, student)
    for path in still:
        print(f"{path} still names the student: check it, and remove it")
    print(ELSEWHERE)
    return LEFTOVERS if still else ExitCode.OK


def run_purge(asked: argparse.Namespace) -> int:
    """Remove everything from before a date."""
    try:
        before = utc(datetime.fromisoformat(asked.before))
    except ValueError:
        raise UsageError(f"--before {asked.before!r} should be a date such as 2027-01-31") from None
    folder = ClassFolder.existing(asked.folder)
    with folder.locked():
        roll = folder.roll()
        recorded = {record.submission_id for record in folder.records()}
        old = [
            key for key in sorted(roll.keys() | recorded) if _is_before(folder, roll, key, before)
        ]
        for submission_id in old:
            _remove(folder, roll, submission_id)
        folder.write_roll(roll)
        if old:
            _remove_pages(folder)
    removed = count(len(old), "submission")
    print(f"{removed} from before {before.isoformat()} removed, {len(roll)} kept.")
    print(ELSEWHERE)
    return ExitCode.OK


def _one(roll: dict[str, RollEntry], asked: str) -> Student:
    """Find the student that an argument means.

    Raises:
        UsageError: if it means nobody, or several students.
    """
    students = {s.key: s for entry in roll.values() for s in entry.students}
    wanted = same(asked)
    for of in (lambda s: (s.key, s.email, s.sid), lambda s: (s.name,)):
        found = [s for s in students.values() if wanted in {same(text) for text in of(s) if text}]
        if len(found) == 1:
            return found[0]
        if found:
            keys = ", ".join(sorted(student.key for student in found))
            raise UsageError(f"{asked!r:.200} may mean any of {keys}: use one of these")
    raise UsageError(
        f"{asked!r:.200} is not on the roll; expected an e-mail address, a student ID or a full "
        "name"
    )


def _remove(folder: ClassFolder, roll: dict[str, RollEntry], submission_id: str) -> None:
    files = folder.remove(submission_id)
    enrolled = roll.pop(submission_id, None) is not None
    counted = count(files, "file")
    print(f"{submission_id}: {counted} removed{', and its entry in the roll' * enrolled}")


def _remove_pages(folder: ClassFolder) -> None:
    """Remove pages that show more than one student, or name members of a group."""
    if storage.remove(folder):
        print(f"{storage.NAME}/ removed; `similar` writes it again without the removed submissions")
    for name in ("report", "report-anonymous", "regrades"):
        if (folder.path / name).is_dir():
            remove_tree(folder.path / name)
            word = "regrade" if name == "regrades" else "report"
            print(f"{name}/ removed; `{word}` writes it again without the removed submissions")
    for pages in (folder.path / RECORDS).glob("*/pages"):
        remove_tree(pages)


def _is_before(
    folder: ClassFolder, roll: dict[str, RollEntry], submission_id: str, before: datetime
) -> bool:
    entry = roll.get(submission_id)
    if entry is not None and entry.created_at is not None:
        return utc(entry.created_at) < before
    files = [path for path in folder.submission(submission_id).rglob("*") if path.is_file()]
    times = [written_at(path) for path in files]
    return max(times) < before if times else False


def _mentions(folder: ClassFolder, student: Student) -> list[Path]:
    """Return the files that still contain the student's name, e-mail address or ID."""
    # Shorter texts occur everywhere, as parts of words and numbers.
    known = [text for text in (student.name, student.sid, student.email) if text and len(text) > 3]
    wanted = {
        spelling.encode("utf-8", "replace").lower() for text in known for spelling in _spelt(text)
    }
    # The roll may contain another student with the same name.
    own = {folder.path / name for name in (LOCK, ROLL)}
    files = [path for path in sorted(folder.path.rglob("*")) if path.is_file() and path not in own]
    contents = ((path, path.read_bytes().lower()) for path in files)
    return [path for path, content in contents if any(text in content for text in wanted)]


def _spelt(text: str) -> Iterator[str]:
    """Yield the forms that a text may have in a file: composed or not, in JSON, in HTML."""
    for form in (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)):
        yield from (form, html.escape(form), json.dumps(form)[1:-1])
        yield json.dumps(form, ensure_ascii=False)[1:-1]
