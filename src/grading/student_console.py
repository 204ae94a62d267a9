"""What a student reads in the terminal: how they are doing, then each thing to mend, once.

Hidden tests are not judged on a student's computer, so no points are counted here. A cause that
several tests run into is shown once, with the tests that it explains.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from . import printable
from .outcomes import Outcome
from .results import Results, TestResult
from .staging import Staged
from .terminal import Terminal

FINE = (Outcome.PASSED, Outcome.RAN_NOT_GRADED)
COLOURS = {
    Outcome.PASSED: "green",
    Outcome.RAN_NOT_GRADED: "yellow",
    Outcome.NOT_RUN: "yellow",
}
# Of what endings.py says, and the stub that tools/regions.py writes.
UNWRITTEN = re.compile(r"(submission/\S+:\d+): not written yet(?:: (?:\[[^]]*\] )?(\S+) .*)?")
PRINTED_LINES = 20
LEFT_SHOWN = 3
NUMBER, STATUS = 6, 15  # widths of columns


@dataclass
class Cause:
    """What keeps tests from passing."""

    message: str
    tests: list[TestResult] = field(default_factory=list)


def causes(asked: Iterable[TestResult]) -> list[Cause]:
    """Return why tests did not pass, in the edition's order.

    A hidden test, which tells little, is explained by a basic one that crashed in the same way in
    the same function.
    """
    failing = [test for test in asked if test.outcome not in FINE]
    found: dict[tuple[str, str], Cause] = {}
    of_places: dict[str, Cause] = {}
    for test in sorted(failing, key=lambda test: test.spec.is_hidden):
        cause = of_places.get(test.place) if test.spec.is_hidden and test.place else None
        if cause is None:
            key = test.outcome.value, test.message
            cause = found.setdefault(key, Cause(test.message))
            of_places.setdefault(test.place, cause)
        cause.tests.append(test)
    order = {test.spec.test_id: place for place, test in enumerate(failing)}
    for cause in found.values():
        cause.tests.sort(key=lambda test: order[test.spec.test_id])
    return sorted(found.values(), key=lambda cause: order[cause.tests[0].spec.test_id])


def how_it_went(asked: Sequence[TestResult]) -> str:
    """Say how a student is doing: "basic 4 of 4; 12 hidden tests are graded when you submit"."""
    if any(test.outcome is Outcome.GRADER_ERROR for test in asked):
        return "THE GRADER FAILED in at least one test, which is no fault of yours: tell staff"
    counted = [test for test in asked if test.spec.max_score]
    practice = [test for test in asked if not test.spec.max_score]
    parts = [*_parts(counted), *(f"practice: {part}" for part in _parts(practice))]
    return "; ".join(parts)


def _parts(tests: list[TestResult]) -> list[str]:
    later = [t for t in tests if _is_later(t)]
    now = [t for t in tests if not _is_later(t)]
    parts = [f"basic {_passed(now)} of {len(now)}"] if now else []
    if later:
        kind = "hidden test" if all(t.spec.is_hidden for t in later) else "test"
        many = f"{len(later)} {kind}{'s are' if len(later) > 1 else ' is'}"
        failing = sum(t.outcome not in (*FINE, Outcome.NOT_RUN) for t in later)
        already = f", {failing} of them fail{'s' * (failing == 1)} already" if failing else ""
        parts.append(f"{many} graded when you submit{already}")
    return parts


def _is_later(test: TestResult) -> bool:
    """Return whether a test is graded elsewhere."""
    unjudged = test.spec.is_hidden and test.outcome is not Outcome.PASSED
    return unjudged or test.outcome is Outcome.RAN_NOT_GRADED


def _passed(tests: Iterable[TestResult]) -> int:
    return sum(test.outcome is Outcome.PASSED for test in tests)


def files_line(staged: Staged) -> str:
    """Say in one line which files are graded, and which were left behind."""
    folders: dict[str, int] = {}
    for name, origin in staged.taken.items():
        folder = origin.removesuffix(name.rpartition("/")[2])
        folders[folder] = folders.get(folder, 0) + 1
    taken = " and ".join(f"{count} of {printable.line(f)}" for f, count in folders.items())
    ours = f"; {', '.join(staged.added)} of ours" if staged.added else ""
    left = ", ".join(staged.left[:LEFT_SHOWN])
    more = len(staged.left) - LEFT_SHOWN
    behind = f"; left behind: {left}{f' and {more} more' if more > 0 else ''}" if left else ""
    return f"Files: {taken or 'none'}{ours}{behind}"


def report(results: Results, files: str, terminal: Terminal) -> list[str]:
    """Return the lines of a run's report.

    Args:
        files: from files_line.
    """
    asked = [test for test in results.tests if test.asked]
    found = causes(asked)
    fine = all(test.outcome in FINE for test in asked)
    first = terminal.fitted(how_it_went(asked))
    lines = [terminal.painted(line, "green" if fine else "bold") for line in first]
    lines += [*terminal.fitted(files, hanging="  "), ""]
    numbers = list(dict.fromkeys(test.spec.number for test in asked))
    if len(numbers) == 1:
        for test in asked:
            lines += _test(test, found, terminal)
    else:
        titles = {question.number: question.title for question in results.edition.questions}
        for number in numbers:
            tests = [test for test in asked if test.spec.number == number]
            lines += _question(number, titles[number], tests, found, terminal)
    for warning in results.facts.get("warnings", []):
        lines += terminal.fitted(f"Warning: {warning}", hanging="  ")
    return [*lines, f"seed {results.seed}"]


def _test(test: TestResult, found: list[Cause], terminal: Terminal) -> list[str]:
    """Return a test's lines, where one question alone was asked for."""
    outcome = test.outcome.value
    head, *rest = terminal.fitted(
        f"{test.spec.test_id:<13}{outcome:<16}{test.description}", hanging=" " * 29
    )
    colour = COLOURS.get(test.outcome, "red")
    lines = [head.replace(outcome, terminal.painted(outcome, colour), 1), *rest]
    cause = next((cause for cause in found if test in cause.tests), None)
    if cause is not None and cause.tests[0] is not test:
        lines += terminal.fitted(f"as {cause.tests[0].spec.test_id}", " " * 6)
    elif not test.spec.is_hidden or test.outcome not in FINE:
        lines += _message(test.message, " " * 6, terminal)
    return lines + _printed(test, terminal)


def _printed(test: TestResult, terminal: Terminal) -> list[str]:
    if test.spec.is_hidden or not test.output:
        return []
    printed = test.output.splitlines()
    lines = ["your code printed:", *(f"| {line}" for line in printed[:PRINTED_LINES])]
    if len(printed) > PRINTED_LINES:
        lines.append(f"| ... and {len(printed) - PRINTED_LINES} lines more")
    return [" " * 6 + line for line in lines]


def _question(
    number: str, title: str, tests: list[TestResult], found: list[Cause], terminal: Terminal
) -> list[str]:
    """Return a question's lines, where several were asked for."""
    now = [test for test in tests if not _is_later(test)]
    status = f"basic {_passed(now)} of {len(now)}" if now else "hidden"
    here = [cause for cause in found if any(test in cause.tests for test in tests)]
    beneath: list[str] = []
    text = title
    if len(here) == 1 and "\n" not in here[0].message:
        text = _explained(here[0], tests)
    else:
        for cause in here:
            beneath += _message(_explained(cause, tests), " " * NUMBER, terminal)
    head, *rest = terminal.fitted(
        f"{number:<{NUMBER}}{status:<{STATUS}}{text}", hanging=" " * (NUMBER + STATUS)
    )
    colour = "red" if here else "green" if now and _passed(now) == len(now) else "yellow"
    head = head.replace(status, terminal.painted(status, colour), 1)
    printed = any(test.output and not test.spec.is_hidden for test in tests)
    if printed:
        rest.append(" " * NUMBER + f"It printed something: python src/grader.py {number} shows it.")
    return [head, *rest, *beneath]


def _explained(cause: Cause, tests: list[TestResult]) -> str:
    """Return a cause with the tests that it explains, or where that was said, in an earlier one."""
    first = cause.tests[0].spec
    if first.number != tests[0].spec.number:
        return f"as {first.test_id}"
    mine = [test for test in tests if test in cause.tests]
    others = len(cause.tests) - len(mine)
    which = first.test_id if len(mine) == 1 else f"{first.test_id} and {len(mine) - 1} more"
    if len(mine) == len(tests):
        which = f"all {len(mine)}" if len(mine) > 1 else ""
    which += f"{' ' if which else ''}(and {others} tests of other questions)" if others else ""
    return f"{which}: {_short(cause.message)}" if which else _short(cause.message)


def _short(message: str) -> str:
    """Return a message without what its place tells already."""
    found = UNWRITTEN.fullmatch(message)
    if found is None:
        return message
    return f"not written yet: {found[1]}{f', {found[2]}' if found[2] else ''}"


def _message(message: str, indent: str, terminal: Terminal) -> list[str]:
    lines = []
    for line in _short(message).splitlines():
        inner = indent + " " * (len(line) - len(line.lstrip()))
        lines += terminal.fitted(line.strip(), inner, inner + "  ")
    return lines


class Progress:
    """A line that counts tests while they run, where somebody sees it; nothing stays of it."""

    def __init__(self, tests: int) -> None:
        self._tests, self._ended, self._width = tests, 0, 0
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def step(self) -> None:
        """Count a test that has ended."""
        self._ended += 1
        self._show(f"{self._ended} of {self._tests} tests")

    def clear(self) -> None:
        """Take the line away."""
        self._show("")

    def _show(self, text: str) -> None:
        if self._shown:
            print(f"\r{text.ljust(self._width)}\r{text}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
