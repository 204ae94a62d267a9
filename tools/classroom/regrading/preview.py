"""Shows what a regrade would change, in a terminal and as a page with links to both results."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from autograder.isolation.leftovers import remove_tree
from autograder.pages import WIDE
from classroom.arguments import count
from grading import printable
from grading.report import points as shown_points
from grading.report import render
from grading.results import write_atomically

from ..folder import ClassFolder
from ..reports.result_pages import titles, write_result
from ..submissions import RollEntry
from .difference import Change, Difference, TestChange
from .history import Regrade

PAGES, FOLDER = "pages", "regrades"
MOST_LINES = 20  # of each list, in a terminal
STATES = {"open": "not decided yet", "applied": "applied", "discarded": "discarded"}


def lines(folder: ClassFolder, regrade: Regrade, found: Difference, names: bool) -> list[str]:
    """Return the lines of the preview in a terminal."""
    roll = folder.roll()

    def called(change: Change) -> str:
        entry = roll.get(change.submission_id)
        return f"{change.submission_id}  {_names(entry)}" if names else change.submission_id

    shown = [f"{regrade.name}: release {regrade.release} in place of {regrade.baseline}"]
    shown.append(counts(found))
    changed = [test for test in found.tests if test.changed or test.gained]
    for test in changed:
        shown.append(_test_line(test))
        for (was, now), times in test.moves.most_common(MOST_LINES):
            shown.append(f"  {times:>5}  {was} -> {now}")
    if same := len(found.tests) - len(changed):
        words = "other test" if changed else "test"
        shown.append(f"{count(same, words)} run again, no verdict changed")
    for word, changes in (("up", found.up), ("down", found.down), ("new", found.new)):
        shown += _cut([f"{word}: {called(c)}  {_moved(c)}" for c in changes])
    shown += _cut([f"kept: {called(c)}  {c.kept}" for c in found.kept])
    shown += _cut([f"no result: {called(c)}  {_why(c)}" for c in found.unfinished])
    if found.unfinished:
        left = count(len(found.unfinished), "submission")
        shown.append(f"{left} without a new result: run the same command again")
    shown.append(
        f"Nothing counts yet: continue with `apply {folder.path} --reason ...` or `discard "
        f"{folder.path}`"
    )
    return [printable.line(line) for line in shown]


def counts(found: Difference) -> str:
    """Return a line with the numbers of changes."""
    number = found.numbers()
    same = number["submissions"] - number["up"] - number["down"] - number["new"]
    words = f"up {number['up']}, down {number['down']} (to zero {number['to zero']}), same {same}"
    new = f", without a result before {number['new']}" if number["new"] else ""
    return f"{words}{new}; {count(number['verdicts'], 'verdict')} changed"


def history_lines(regrade: Regrade) -> list[str]:
    """Return what `history` shows of a regrade."""
    when = f" {regrade.decided} by {regrade.author}" if regrade.decided else ""
    reason = f": {regrade.reason}" if regrade.reason else ""
    scope = f", only {' '.join(regrade.only)}" if regrade.only else ""
    if regrade.students is not None:
        scope += f", only {count(len(regrade.students), 'submission')}"
    found = [
        f"{regrade.name}  {STATES[regrade.state]}{when}{reason}",
        f"  release {regrade.release} in place of {regrade.baseline}{scope}; begun {regrade.begun}",
    ]
    if regrade.changes:
        found.append("  " + ", ".join(f"{word} {n}" for word, n in regrade.changes.items()))
    return [printable.line(line) for line in found]


def _cut(found: list[str]) -> list[str]:
    more = len(found) - MOST_LINES
    return [*found[:MOST_LINES], *([f"... and {more} more, on the page"] if more > 0 else [])]


def _test_line(test: TestChange) -> str:
    changed = f"{count(test.changed, 'verdict') if test.changed else 'no verdict'} changed"
    gained = f", {_signed(test.gained)} points in total" if test.gained else ""
    return f"{test.test_id}: run for {test.ran}, {changed}{gained}  {test.name}"


def _moved(change: Change) -> str:
    before, after = shown(change)
    return f"{before} -> {after}"


def shown(change: Change) -> tuple[str, str]:
    """Return the points before and after, with the maximum points if these have changed."""
    found = []
    for score, most in zip((change.before, change.after), change.worth, strict=True):
        words = "no result" if score is None else shown_points(score)
        differs = change.worth[0] != change.worth[1] and None not in (score, most)
        found.append(f"{words} of {shown_points(most)}" if differs and most else words)
    return found[0], found[1]


def _signed(gain: Decimal) -> str:
    return ("+" if gain > 0 else "-") + shown_points(abs(gain))


def _why(change: Change) -> str:
    return change.fault.splitlines()[0] if change.fault else "not run yet, or graded again since"


def _names(entry: RollEntry | None) -> str:
    return "" if entry is None else ", ".join(s.name or s.key for s in entry.students)


# ---------------------------------------------------------------- the page


def write_page(folder: ClassFolder, regrade: Regrade, found: Difference) -> Path:
    """Write the page, and pages of both results of each submission that changes."""
    roll, known = folder.roll(), titles()
    rows: dict[str, dict[str, Any]] = {}
    for change in found.changes:
        entry = roll.get(change.submission_id)
        row: dict[str, Any] = {
            "id": change.submission_id,
            "names": _names(entry),
            "before": shown(change)[0],
            "after": shown(change)[1],
            "gain": _signed(change.gain) if change.gain else "",
            "changed": change.changed,
            "why": change.kept or (_why(change) if change in found.unfinished else ""),
            "links": {},
        }
        if change.changed or change.gain or change.is_new:
            row["links"] = _write_both(folder, regrade, change, _names(entry), known)
        rows[change.submission_id] = row
    path = folder.path / FOLDER / regrade.name / "index.html"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lists: list[tuple[str, str, list[dict[str, Any]]]] = [
        ("to-zero", "Down to zero", _rows(rows, found.to_zero)),
        ("down", "Down", _rows(rows, found.down)),
        ("up", "Up", _rows(rows, found.up)),
        ("new", "No result before", _rows(rows, found.new)),
        ("sideways", "Same points, but different verdicts", _rows(rows, found.sideways)),
        ("kept", "Earlier result kept", _rows(rows, found.kept)),
        ("missing", "No new result", _rows(rows, found.unfinished)),
    ]
    text = render(
        Path(__file__).with_name("regrade.html.j2"),
        WIDE,
        title=f"{regrade.name}: what would change",
        regrade=regrade,
        counts=counts(found),
        signed=_signed,
        tests=found.tests,
        lists=lists,
    )
    write_atomically(path, text)
    return path


def _rows(rows: dict[str, dict[str, Any]], changes: list[Change]) -> list[dict[str, Any]]:
    return [rows[change.submission_id] for change in changes]


def _write_both(
    folder: ClassFolder, regrade: Regrade, change: Change, whose: str, known: dict[str, str]
) -> dict[str, str]:
    """Write the pages of both results; return links to them from the preview."""
    links = {}
    for word, release in (("before", regrade.baseline), ("after", regrade.name)):
        record = folder.read_record(change.submission_id, release)
        if record is None:
            continue
        # Beside the records, so that `forget` removes them together with the records.
        inside = Path(change.submission_id) / PAGES / f"{release}.html"
        path = folder.submission(change.submission_id).parent / inside
        note = f"{change.submission_id}, {word} {regrade.name}"
        write_result(path, record, whose, staff=True, known=known, note=note)
        links[word] = f"../../records/{inside.as_posix()}"
    return links


def remove_page(folder: ClassFolder, regrade: Regrade) -> None:
    """Remove a regrade's page, and the pages of its results."""
    remove_tree(folder.path / FOLDER / regrade.name)
    for path in (folder.path / "records").glob(f"*/{PAGES}/{regrade.name}.html"):
        path.unlink()
