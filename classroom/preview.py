"""Shows what a regrade would change, in a terminal and as a page with links to both results."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

from autograder.isolation.leftovers import remove_tree
from autograder.pages import WIDE
from grading import printable
from grading.report import points as shown_points
from grading.report import render
from grading.results import write_atomically

from . import difference
from .arguments import count
from .difference import Change, Difference, Regrade, TestChange, merged
from .report.result_pages import titles, write_result
from .store import Store

MOST_LINES = 20  # of each list, in a terminal


def lines(store: Store, regrade: Regrade, changes: Difference) -> list[str]:
    """Return the lines of the preview in a terminal, where nobody is named."""
    shown = [f"{regrade.name}: {regrade.summary}", changes.counts]
    changed = [test for test in changes.tests if test.moves or test.gained]
    for test in changed:
        shown.append(_test_line(test))
        for (was, now), times in test.moves.most_common(MOST_LINES):
            shown.append(f"  {times:>5}  {was} -> {now}")
    if same := len(changes.tests) - len(changed):
        shown.append(f"{count(same, 'other test' if changed else 'test')}: no verdict changed")
    for group in (difference.UP, difference.TO_ZERO, difference.DOWN, difference.NEW):
        moved = changes.of(group)
        shown += _cut([f"{group.lower()}: {c.submission}  {' -> '.join(_moved(c))}" for c in moved])
    for group in (difference.KEPT, difference.MISSING):
        shown += _cut([f"{group.lower()}: {c.submission}  {_why(c)}" for c in changes.of(group)])
    if missing := changes.of(difference.MISSING):
        left = count(len(missing), "submission")
        shown.append(f"{left} without a new result: run the same command again")
    shown.append(
        f"Nothing counts yet: continue with `apply {store.path} --reason ...` or `discard "
        f"{store.path}`"
    )
    return [printable.line(line) for line in shown]


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"... and {more} more, on the page"] if more > 0 else [])]


def _test_line(test: TestChange) -> str:
    number = test.moves.total()
    changed = f"{count(number, 'verdict') if number else 'no verdict'} changed"
    gained = f", {_signed(test.gained)} points in total" if test.gained else ""
    return f"{test.test_id}: {changed}{gained}  {test.name}"


def _moved(change: Change) -> tuple[str, str]:
    """Return the points before and after, with the maximum points if these have changed."""
    words = []
    for score, most in zip((change.before, change.after), change.worth, strict=True):
        differs = change.worth[0] != change.worth[1] and None not in (score, *change.worth)
        shown = "no result" if score is None else shown_points(score)
        words.append(f"{shown} of {shown_points(most)}" if differs and most else shown)
    return words[0], words[1]


def _signed(gain: Decimal) -> str:
    return ("+" if gain > 0 else "-") + shown_points(abs(gain)) if gain else "0"


def _why(change: Change) -> str:
    return (change.kept or change.fault).partition("\n")[0]


# The page -----------------------------------------------------------------------------------------


def folder_of(store: Store, name: str) -> Path:
    """Return the folder of a regrade's pages."""
    return store.path / "regrades" / name


def write_pages(store: Store, regrade: Regrade, changes: Difference) -> Path:
    """Write the page, and pages of both results of each submission that changes."""
    folder, known = folder_of(store, regrade.name), titles()
    remove_tree(folder)
    folder.mkdir(mode=0o700, parents=True)
    for change, (base, new, _) in zip(changes.changes, regrade.pairs(store), strict=True):
        if change.group and new is not None and not _why(change):
            key, names = change.submission, store.names(change.submission)
            after = dict(new) | {"results": json.dumps(merged(base, new, regrade.tests))}
            for word, record in (("before", dict(base)), ("after", after)):
                note = f"{key}, {word} {regrade.name}"
                path = folder / key / f"{word}.html"
                write_result(path, record, names, staff=True, known=known, note=note)
    text = render(
        Path(__file__).with_name("regrade.html.j2"),
        WIDE,
        title=f"{regrade.name}: what would change",
        regrade=regrade,
        counts=changes.counts,
        signed=_signed,
        tests=changes.tests,
        lists={group: changes.of(group) for group in difference.GROUPS},
        names=store.names,
        moved=_moved,
        why=_why,
    )
    write_atomically(folder / "index.html", text)
    return folder / "index.html"
