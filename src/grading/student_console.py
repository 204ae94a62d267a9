"""A student's report in the terminal: a summary, then each problem once.

Hidden tests are not judged on a student's computer, so no points are counted here. A cause of
several failures is shown once, with the tests that it explains.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from . import printable
from .results import Results, TestResult
from .staging import Staged
from .terminal import Terminal
from .verdicts import Outcome

FINE = (Outcome.PASSED, Outcome.RAN_NOT_GRADED)
COLOURS = {
    Outcome.PASSED: "green",
    Outcome.RAN_NOT_GRADED: "yellow",
    Outcome.NOT_RUN: "yellow",
}
# verdicts.py's message for parts that raise NotImplementedError, with the text of their stubs.
UNWRITTEN = re.compile(r"(submission/\S+:\d+): not written yet(: .*)?")
# See questions/shared/trained_files.py, and staging.Staged.hint.
LACKING = re.compile(r"(\S+) is missing; ((?:you uploaded|there is) .*)?")
PRINTED_LINES = 20
NO_POINTS = "no points"
OMISSIONS_SHOWN = 3
OTHERS_SHOWN = 4
NUMBER, STATUS = 5, 18  # widths of columns


@dataclass
class Cause:
    """A reason why tests did not pass: how the first of them ended, and all that it explains."""

    outcome: Outcome
    message: str
    tests: list[TestResult] = field(default_factory=list)

    @property
    def is_unwritten(self) -> bool:
        """Whether a part is not written yet."""
        return UNWRITTEN.fullmatch(self.message) is not None


def causes(asked: Iterable[TestResult]) -> list[Cause]:
    """Return why tests did not pass, in the edition's order.

    A hidden test, which shows little, is explained by a basic one that crashed in the same way in
    the same function. All missing files of a question are one cause.
    """
    failing = [test for test in asked if test.outcome not in FINE]
    found: dict[tuple[str, str], Cause] = {}
    of_places: dict[str, Cause] = {}
    for test in sorted(failing, key=lambda test: test.spec.is_hidden):
        cause = of_places.get(test.place) if test.spec.is_hidden and test.place else None
        if cause is None:
            lacking = LACKING.match(test.message)
            key = test.outcome.value, test.spec.number if lacking else test.message
            cause = found.setdefault(key, Cause(test.outcome, test.message))
            of_places.setdefault(test.place, cause)
        cause.tests.append(test)
    order = {test.spec.test_id: place for place, test in enumerate(failing)}
    for cause in found.values():
        cause.tests.sort(key=lambda test: order[test.spec.test_id])
        lacked = {m[1]: m[2] for t in cause.tests if (m := LACKING.match(t.message))}
        if len(lacked) > 1:
            advice = [hint for hint in lacked.values() if hint]
            if not all(lacked.values()):
                advice.append("the question's commands write them")
            cause.message = f"missing: {', '.join(lacked)}; {'; '.join(advice)}"
    return sorted(found.values(), key=lambda cause: order[cause.tests[0].spec.test_id])


def counted(results: Results) -> set[str]:
    """Return the numbers of the questions that carry points for code."""
    return {test.spec.number for test in results.tests if test.spec.max_score}


def how_it_went(results: Results) -> str:
    """Summarize results: "basic 4 of 4; 12 hidden tests are graded when you submit"."""
    asked, numbers = [test for test in results.tests if test.asked], counted(results)
    if any(test.outcome is Outcome.GRADER_ERROR for test in asked):
        return "THE GRADER FAILED in at least one test, which is not your fault: tell staff"
    for_points = [test for test in asked if test.spec.number in numbers]
    others = [test for test in asked if test.spec.number not in numbers]
    if not for_points:
        return "; ".join([*parts(others, "basic"), "no points"])
    return "; ".join([*parts(for_points, "basic"), *parts(others, "without points")[:1]])


def parts(tests: list[TestResult], kind: str) -> list[str]:
    """Return how tests went: "basic 4 of 4", and how many are graded elsewhere."""
    later = [t for t in tests if is_later(t)]
    now = [t for t in tests if not is_later(t)]
    told = [f"{kind} {_passed(now)} of {len(now)}"] if now else []
    if later:
        hidden = "hidden " if all(t.spec.is_hidden for t in later) else ""
        many = f"{len(later)} {hidden}test{'s are' if len(later) > 1 else ' is'}"
        failing = sum(t.outcome not in (*FINE, Outcome.NOT_RUN) for t in later)
        already = f" ({failing} fail{'s' * (failing == 1)} already)" if failing else ""
        told.append(f"{many} graded when you submit{already}")
    return told


def is_later(test: TestResult) -> bool:
    """Return whether a test is graded elsewhere."""
    unjudged = test.spec.is_hidden and test.outcome is not Outcome.PASSED
    return unjudged or test.outcome is Outcome.RAN_NOT_GRADED


def _passed(tests: Iterable[TestResult]) -> int:
    return sum(test.outcome is Outcome.PASSED for test in tests)


def files_line(staged: Staged) -> str:
    """Return one line on which files are graded, and which were left out."""
    folders: dict[str, int] = {}
    for name, origin in staged.taken.items():
        folder = _near(origin.removesuffix(name.rpartition("/")[2]))
        folders[folder] = folders.get(folder, 0) + 1
    taken = " and ".join(f"{count} of {printable.line(f)}" for f, count in folders.items())
    ours = f"; added by the grader: {', '.join(staged.added)}" if staged.added else ""
    omitted = ", ".join(map(str, staged.omissions[:OMISSIONS_SHOWN]))
    more = len(staged.omissions) - OMISSIONS_SHOWN
    behind = f"; left out: {omitted}{f' and {more} more' if more > 0 else ''}" if omitted else ""
    renamed = "".join(f"; {staged.hint(name)}" for name in staged.renamed)
    return f"Files: {taken or 'none'}{ours}{behind}{renamed}"


def _near(folder: str) -> str:
    """Return a folder's path relative to here, if that is shorter."""
    try:
        relative = os.path.relpath(folder)
    except ValueError:  # another drive on Windows
        return folder
    return min(f"{relative}{os.sep}", folder, key=len)


def report(results: Results, files: str, terminal: Terminal) -> list[str]:
    """Return the lines of a run's report.

    Args:
        files: from files_line.
    """
    asked = results.asked
    unreached = [test for test in asked if _is_unreached(test)]
    ended = [test for test in asked if test not in unreached]
    found = causes(ended)
    fine = all(test.outcome in FINE for test in asked)
    first = terminal.fitted(how_it_went(results))
    lines = [terminal.painted(line, "green" if fine else "bold") for line in first]
    lines += [*terminal.fitted(files, hanging="  "), ""]
    numbers = list(dict.fromkeys(test.spec.number for test in asked))
    if len(numbers) == 1:
        for test in ended:
            lines += _test(test, found, terminal)
    else:
        lines += _questions(results, ended, found, terminal)
    if unreached:
        names = (t.spec.number if len(numbers) > 1 else t.spec.test_id for t in unreached)
        lines += terminal.fitted(f"Not run: {', '.join(dict.fromkeys(names))}", hanging="  ")
    for warning in results.facts.get("warnings", []):
        lines += terminal.fitted(f"Warning: {warning}", hanging="  ")
    return [*lines, f"seed {results.seed}"]


def _is_unreached(test: TestResult) -> bool:
    """Return whether the run was interrupted before this test; others say why they did not run."""
    return test.outcome is Outcome.NOT_RUN and not test.message


def _questions(
    results: Results, ended: list[TestResult], found: list[Cause], terminal: Terminal
) -> list[str]:
    """Return the lines of several questions; those without points that need none share two."""
    lines, waiting, finished, for_points = [], [], [], counted(results)
    for question in results.edition.questions:
        tests = [test for test in ended if test.spec.number == question.number]
        here = [cause for cause in found if any(test in cause.tests for test in tests)]
        concerned = {test.spec.number for cause in here for test in cause.tests}
        begun = _passed(tests) or not here or not all(cause.is_unwritten for cause in here)
        if tests and not begun and not concerned & for_points:
            waiting.append(question.number)
        elif tests and not results.wanted and _needs_no_line(tests, for_points):
            finished.append(question.number)
        elif tests:
            kind = "basic" if question.number in for_points else NO_POINTS
            lines += _question(question.title, kind, tests, here, terminal)
    for kind, numbers in (("all basic tests passed", finished), ("nothing written yet", waiting)):
        if numbers:
            told = f"{NO_POINTS}, {kind}: {', '.join(numbers)}"
            lines += terminal.fitted(told, " " * NUMBER, " " * NUMBER + "  ")
    return lines


def _needs_no_line(tests: list[TestResult], for_points: set[str]) -> bool:
    """Return whether a question without points is fine as far as it is graded here."""
    fine = all(t.outcome in FINE and (t.spec.is_hidden or not t.output) for t in tests)
    return fine and tests[0].spec.number not in for_points


def _test(test: TestResult, found: list[Cause], terminal: Terminal) -> list[str]:
    """Return a test's lines, if only one question was selected."""
    cause = next((cause for cause in found if test in cause.tests), None)
    first = cause is None or cause.tests[0] is test
    outcome = test.outcome.value if cause is None or first else f"as {cause.tests[0].spec.test_id}"
    head, *rest = terminal.fitted(
        f"{test.spec.test_id:<13}{outcome:<16}{test.description}", hanging=" " * 29
    )
    colour = COLOURS.get(test.outcome, "red")
    lines = [head.replace(outcome, terminal.painted(outcome, colour), 1), *rest]
    told = cause.message if cause else test.message
    waits = test.spec.is_hidden and test.outcome is Outcome.RAN_NOT_GRADED
    if first and not waits and test.outcome is not Outcome.PASSED:
        lines += _message(told, " " * 6, terminal)
    return lines + _printed(test, terminal)


def _printed(test: TestResult, terminal: Terminal) -> list[str]:
    if test.spec.is_hidden or not test.output:
        return []
    printed = test.output.splitlines()
    lines = ["your code's output:", *(f"| {line}" for line in printed[:PRINTED_LINES])]
    if len(printed) > PRINTED_LINES:
        lines.append(f"| ... and {len(printed) - PRINTED_LINES} more lines")
    return [" " * 6 + line for line in lines]


def _question(
    title: str, kind: str, tests: list[TestResult], here: list[Cause], terminal: Terminal
) -> list[str]:
    """Return a question's lines, if several were selected: just one if it is enough."""
    number, now = tests[0].spec.number, [test for test in tests if not is_later(test)]
    status = f"{kind} {_passed(now)} of {len(now)}" if now else kind
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
    colour = "red" if any(not cause.is_unwritten for cause in here) else "yellow"
    colour = "green" if not here and now and _passed(now) == len(now) else colour
    head = head.replace(status, terminal.painted(status, colour), 1)
    if any(test.output and not test.spec.is_hidden for test in tests):
        rest.append(" " * NUMBER + f"your code has output: python src/grader.py {number} shows it")
    return [head, *rest, *beneath]


def _explained(cause: Cause, tests: list[TestResult]) -> str:
    """Return a cause with the tests of a question that it explains.

    It is shown in full with the first question that it concerns.
    """
    first, mine = cause.tests[0].spec, [test for test in tests if test in cause.tests]
    others = [t.spec.number for t in cause.tests if t.spec.number != tests[0].spec.number]
    which = mine[0].spec.test_id + f" and {len(mine) - 1} more" * (len(mine) > 1)
    failing = [test for test in tests if test.outcome not in FINE]
    prefix = "" if len(mine) == len(failing) else f"{which}: "
    if first.number != tests[0].spec.number:
        return f"{prefix}as {first.test_id}"
    numbers = list(dict.fromkeys(others))
    few = len(numbers) <= OTHERS_SHOWN
    also = ", ".join(numbers) if few else f"{len(numbers)} other questions"
    also = f" (and in {also})" if numbers else ""
    head, *more = _short(cause.message).split("\n")
    return "\n".join([f"{prefix}{head}{also}", *more])


def _short(message: str) -> str:
    """Return a message without what its position already says."""
    found = UNWRITTEN.fullmatch(message)
    return f"not written yet: {found[1]}" if found else message


def _message(message: str, indent: str, terminal: Terminal) -> list[str]:
    lines = []
    for line in message.splitlines():
        inner = indent + " " * (len(line) - len(line.lstrip()))
        lines += terminal.fitted(line.strip(), inner, inner + "  ")
    return lines


class Progress:
    """A line in the terminal that counts tests while they run, and is then removed."""

    def __init__(self, tests: int) -> None:
        self._tests, self._ended, self._width = tests, 0, 0
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def step(self) -> None:
        """Count a test that has ended."""
        self._ended += 1
        self._show(f"{self._ended} of {self._tests} tests")

    def clear(self) -> None:
        """Remove the line."""
        self._show("")

    def _show(self, text: str) -> None:
        if self._shown:
            print(f"\r{text.ljust(self._width)}\r{text}", end="", file=sys.stderr, flush=True)
            self._width = len(text)
