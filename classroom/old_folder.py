"""Reads a class's folder as it was before there was class.db: a file for each record.

    classroom.json                  marks the folder
    roll.json, sources.json         who handed in what, and where the files are
    records/SUBMISSION/RELEASE.json
    history.json                    regrades, whose records are records/SUBMISSION/regrade-N.json
    gradebook/*.csv                 what staff decided about students

`Store` puts it into class.db when a command opens such a folder, and then moves all old files to
DIR/before-import/.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grading.errors import UsageError

from . import times
from .records import Outcome, Record
from .submissions import Student, Submission

MARKER, BEFORE = "classroom.json", "before-import"
REGRADE = "regrade-"
# By file: the kind of decision, and the column of its value.
DECISIONS = {
    "overrides.csv": ("override", "points"),
    "extensions.csv": ("extension", "due"),
    "excuses.csv": ("excuse", ""),
    "withheld.csv": ("withheld", ""),
    "late_days.csv": ("late_days", "days"),
    "people.csv": ("same_as", "same_as"),
}


@dataclass
class OldFolder:
    """What an old folder contains.

    Attributes:
        sources: the paths of sources, the latest first.
        counted: the place in `records` of each record that counts.
        release, edition: of the records that count; "" if there are none.
        history: (at, what, release, reason, author) of each regrade.
        decisions: (kind, student, question, value, reason, author, date) of each decision.
        notes: a line about each file that can't be imported.
    """

    attempts: str
    sources: list[Path]
    submissions: list[Submission]
    records: list[Record]
    counted: list[int]
    release: str
    edition: str
    history: list[tuple[str, ...]]
    decisions: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(folder: Path) -> OldFolder:
    """Read an old folder, and change nothing.

    Raises:
        UsageError: it is damaged.
    """
    try:
        return _read(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{folder} can't be imported: {error!r:.200}") from None


def _read(folder: Path) -> OldFolder:
    regrades = {
        f"{REGRADE}{r['number']}": r for r in _json(folder / "history.json", "regrades", [])
    }
    sources = _json(folder / "sources.json", "sources", [])
    roll = _json(folder / "roll.json", "submissions", {})
    submissions = [_submission(key, fields) for key, fields in roll.items()]
    files = sorted((folder / "records").glob("*/*.json"))
    records = [_record(path, regrades) for path in files]
    unknown = sorted({record.submission for record in records} - roll.keys())
    since = {name: r["applied_ns"] for name, r in regrades.items() if r["state"] == "applied"}
    chosen = _counting(files, records, since)
    counted = [n for n, path in enumerate(files) if path.stem == chosen]
    release = records[counted[0]].release if counted else ""
    editions = [json.loads(r.results)["edition"] for n in counted if (r := records[n]).results]
    old = OldFolder(
        sources[0]["attempts"] if sources else "latest",
        [Path(source["path"]) for source in sources],
        submissions + [Submission(key, ()) for key in unknown],
        records,
        counted,
        release,
        editions[0] if editions else "",
        [_history(name, regrade) for name, regrade in regrades.items()],
    )
    for name, (kind, column) in DECISIONS.items():
        if (folder / "gradebook" / name).is_file():
            _read_decisions(folder / "gradebook" / name, kind, column, old)
    return old


def _json(path: Path, key: str, default: Any) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))[key] if path.is_file() else default


def _submission(submission_id: str, fields: dict[str, Any]) -> Submission:
    platform, _, number = submission_id.partition("_")
    created = fields["created_at"]
    return Submission(
        submission_id,
        tuple(_student(student) for student in fields["students"]),
        datetime.fromisoformat(created) if created else None,
        fields["late"],
        fields["attempt"],
        int(number.rpartition("_")[2]) if platform == "canvas" and "_" in number else 0,
        fields["score"],
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
    outcome: Outcome = "nothing to grade" if kept["refused"] else "graded"
    return Record(
        path.parent.name,
        regrades[name]["release"] if name in regrades else name,
        kind,
        "staff fault" if results is None else outcome,
        str(results["seed"] if results else kept.get("seed", "")),
        "",  # digests were of something else
        None if results is None else json.dumps(results, ensure_ascii=False),
        reason,
        kept.get("took_s", 0.0),
        kept.get("processor", ""),
        times.stored(datetime.fromtimestamp(path.stat().st_mtime, UTC)),
    )


def _counting(files: list[Path], records: list[Record], since: dict[str, int]) -> str:
    """Return the name of the records that count: most submissions have one; of several, the latest.

    Previews and regrades that weren't applied never count.
    """
    sizes: Counter[str] = Counter()
    newest = dict(since)
    for path, record in zip(files, records, strict=True):
        name = path.stem
        if record.kind == "preview" or (name.startswith(REGRADE) and name not in since):
            continue
        sizes[name] += record.outcome != "staff fault"
        if name not in since:
            newest[name] = max(newest.get(name, 0), path.stat().st_mtime_ns)
    return max(sizes, key=lambda name: (sizes[name], newest[name]), default="")


def _history(name: str, regrade: dict[str, Any]) -> tuple[str, ...]:
    at = datetime.strptime(regrade["decided"] or regrade["begun"], "%Y-%m-%d %H:%M UTC")
    what = f"{name} {regrade['state']}"
    return times.stored(at), what, regrade["release"], regrade["reason"], regrade["author"]


def _read_decisions(path: Path, kind: str, column: str, old: OldFolder) -> None:
    """Read a file of decisions, whose cells may have an apostrophe against formulas."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        old.notes.append(f"gradebook/{path.name} is not UTF-8, and was not imported")
        return
    head = text.partition("\n")[0]
    lines = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
    for line in lines:
        cells = {str(k).strip().lower(): str(v or "").strip() for k, v in line.items()}
        cells = {k: v[1:] if v[:2] in GUARDED else v for k, v in cells.items()}
        if not cells.get("student"):
            if any(cells.values()):
                old.notes.append(f"gradebook/{path.name}, line {lines.line_num}: no student")
            continue
        rest = (cells.get(name, "") for name in ("reason", "author", "date"))
        value = cells.get(column, "")
        old.decisions.append((kind, cells["student"], cells.get("question", ""), value, *rest))


GUARDED = [f"'{sign}" for sign in "=+-@'"]
