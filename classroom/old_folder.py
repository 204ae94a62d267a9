"""Imports a class's folder as it was before there was class.db: a file for each record.

    classroom.json                  marks the folder
    roll.json, sources.json         who handed in what, and where the files are
    records/SUBMISSION/RELEASE.json
    history.json                    regrades, whose records are records/SUBMISSION/regrade-N.json
    gradebook/*.csv                 what staff decided about students

When a command opens such a folder, its contents are put into class.db, and all old files are moved
to DIR/before-import/.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grading.errors import UsageError

from . import cells, times
from .submissions import Record, Student, Submission

MARKER, BEFORE = "classroom.json", "before-import"
REGRADE = "regrade-"
WHY = ("reason", "author", "date")
# What staff decide: by file, the kind in the table `decisions`, and the columns.
DECISIONS = {
    "overrides.csv": ("override", ("student", "question", "points", *WHY)),
    "extensions.csv": ("extension", ("student", "due", *WHY)),
    "excuses.csv": ("excuse", ("student", *WHY)),
    "withheld.csv": ("withheld", ("student", *WHY)),
    "late_days.csv": ("late_days", ("student", "days")),
    "people.csv": ("same_as", ("student", "same_as")),
}


def move_in(store: Any, new: set[str]) -> None:
    """Put what is in a `Store`'s folder into its database once, and move the old files away.

    All files but the `new` ones are old. UsageError: the folder is damaged.
    """
    folder = store.path
    if store.setting("imported") is None:  # otherwise, only moving them was interrupted
        try:
            with store.transaction():
                lines = _fill(store, folder)
                store.set("imported", times.now())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"{folder} can't be imported: {error!r:.200}") from None
        print("\n".join(lines), file=sys.stderr)
    (folder / BEFORE).mkdir(mode=0o700, exist_ok=True)
    names = {path.name for path in folder.iterdir()} - new - {BEFORE, MARKER}
    for name in (*names, MARKER):  # last, so that an interruption is noticed
        (folder / name).rename(folder / BEFORE / name)


# Most submissions have a record of the kind that counts; of several such kinds, it is the latest.
# Previews and regrades that weren't applied never count.
COUNTING = """
SELECT kind, release FROM records WHERE kind IN (SELECT value FROM json_each(?))
GROUP BY kind, release ORDER BY sum(outcome != 'staff fault') DESC, max(at) DESC LIMIT 1"""


def _fill(store: Any, folder: Path) -> list[str]:
    regrades = {
        f"{REGRADE}{r['number']}": r for r in _json(folder / "history.json", "regrades", [])
    }
    sources = _json(folder / "sources.json", "sources", [])  # the latest first
    roll = _json(folder / "roll.json", "submissions", {})
    records = [_record(path, regrades) for path in (folder / "records").glob("*/*.json")]
    submissions = [_submission(key, fields) for key, fields in roll.items()]
    graded = {record.submission for record in records}
    submissions += [Submission(key, ()) for key in graded - roll.keys()]
    for source in reversed([Path(source["path"]) for source in sources] or [folder]):
        store.add_submissions(source, "unknown", submissions)
    for record in records:
        store.add_record(record)
    applied = [name for name, regrade in regrades.items() if regrade["state"] == "applied"]
    kind = store.row(COUNTING, json.dumps(["grade", "gradescope", *applied])) or ("", "")
    counting = store.rows("SELECT * FROM records WHERE kind = ? AND release = ?", *kind)
    for row in counting:
        store.count(row["id"])
        store.set("release", row["release"])
        if row["results"]:
            store.set("edition", json.loads(row["results"])["edition"])
    for name, regrade in regrades.items():
        at = datetime.strptime(regrade["decided"] or regrade["begun"], "%Y-%m-%d %H:%M UTC")
        said = {key: regrade[key] for key in ("release", "reason", "author")}
        what = {"what": f"{name} {regrade['state']}", "at": times.stored(at)}
        store.add("history", what | said)
    release = store.setting("release") or "(none)"
    return [
        f"{folder} was imported into class.db: {len(submissions)} submissions, {len(records)} "
        f"records; {len(counting)} of them count, of release {release}. The old files are in "
        f"{BEFORE}/",
        *_add_decisions(store, folder / "gradebook"),
    ]


def _json(path: Path, key: str, default: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))[key] if path.is_file() else default


def _submission(submission_id: str, fields: dict[str, Any]) -> Submission:
    platform, _, number = submission_id.partition("_")
    created = fields["created_at"]
    return Submission(
        submission_id,
        tuple(map(_student, fields["students"])),
        datetime.fromisoformat(created) if created else None,
        fields["late"],
        fields["attempt"],
        int(number.rpartition("_")[2]) if platform == "canvas" and "_" in number else 0,
    )


def _student(fields: dict[str, Any]) -> Student:
    platform, _, number = fields["key"].partition(":")
    known = {f"{platform}_id": number} if platform in ("canvas", "moodle") and number else {}
    return Student(fields["key"], fields["name"], fields["email"], fields["sid"], **known)


def _record(path: Path, regrades: dict[str, Any]) -> Record:
    kept = json.loads(path.read_text(encoding="utf-8"))
    name, results = path.stem, kept["results"]
    kind = "grade" if kept["counts"] else "preview"
    if name == "gradescope" or name.startswith(REGRADE):
        kind = name
    reason = kept["fault"] or kept["refused"]
    if kept["again"]:
        results, reason = None, "tests that ended in a limit were not run again"
    outcome = "nothing to grade" if kept["refused"] else "graded"
    regrade = regrades.get(name, {"release": name})
    changed_ns = regrade.get("applied_ns") or path.stat().st_mtime_ns
    return Record(
        submission=path.parent.name,
        release=regrade["release"],
        kind=kind,
        outcome="staff fault" if results is None else outcome,
        seed=str(results["seed"] if results else kept.get("seed", "")),
        upload="",  # digests were of something else
        results=None if results is None else json.dumps(results, ensure_ascii=False),
        reason=reason,
        took_s=kept.get("took_s", 0.0),
        processor=kept.get("processor", ""),
        at=times.stored(datetime.fromtimestamp(changed_ns / 1e9, UTC)),
    )


def value_column(columns: tuple[str, ...]) -> str:
    """Return which of a file's columns has the value of a decision; "" if none has."""
    return next((name for name in columns if name not in ("student", "question", *WHY)), "")


def _add_decisions(store: Any, folder: Path) -> Iterator[str]:
    """Add what staff decided; yield a line about everything that can't be added."""
    for file, (kind, columns) in DECISIONS.items():
        if not (folder / file).is_file():
            continue
        try:
            sheet = cells.table(cells.read(folder / file), ("student",), None)
        except UsageError as error:
            yield f"{folder.name}/{error}; it was not imported"
            continue
        for row in sheet.rows[1:]:
            fields = {name: row.cell(name) for name in ("student", "question", *WHY)}
            if fields["student"]:
                value = row.cell(value_column(columns))
                store.add("decisions", {"kind": kind, "value": value} | fields)
            else:
                yield f"{folder.name}/{row.place}: no student"
