"""What students and staff read in a terminal.

Students read a report at the end: a summary, then each cause of failures once, with the tests that
it explains. Staff read each test as it ends, with its points, and then the points by question.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TextIO

from . import printable
from .report import Cause, Question, Report, State, identity, is_fine, points, state
from .results import Results, TestResult
from .staging import Staged

PRINTED_LINES = 20
NO_POINTS = "no points"
OMISSIONS_SHOWN = 3
OTHERS_SHOWN = 4
NUMBER, STATUS = 5, 18  # widths of columns
INDENT = " " * 6  # below a test
COLOURS = {State.PASSED: "green"} | dict.fromkeys(
    (State.GRADED_LATER, State.NOT_RUN, State.NOT_REACHED), "yellow"
)
CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}
NARROWEST = 40  # columns; narrower text is no easier to read than text that is too wide


@dataclass(frozen=True)
class Terminal:
    """Where text will be read.

    Attributes:
        width: columns, or None if lines may have any length, as in a file or a pipe.
        colours: whether it shows them.
    """

    width: int | None = None
    colours: bool = False

    def fitted(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Return a line of text as lines that fit; no word is cut in two.

        Args:
            indent: prefix of the first line.
            hanging: prefix of the others; None: the same as for the first.
        """
        further = indent if hanging is None else hanging
        if self.width is None or len(indent) + len(text) <= self.width:
            return [indent + text]
        lines = textwrap.wrap(
            text,
            max(self.width, NARROWEST),
            initial_indent=indent,
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return lines or [indent]

    def painted(self, text: str, colour: str) -> str:
        """Return text in one of CODES, if colours show."""
        return f"\033[{CODES[colour]}m{text}\033[0m" if self.colours and text else text


def detect(stream: TextIO | None) -> Terminal:
    """Return a stream's Terminal. NO_COLOR, set to anything, means no colours (no-color.org)."""
    if stream is None or not stream.isatty():
        return Terminal()
    colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if sys.platform == "win32":  # older consoles would print the codes
        colours = colours and any(name in os.environ for name in ("WT_SESSION", "TERM_PROGRAM"))
    return Terminal(shutil.get_terminal_size().columns, colours)


class Progress:
    """A line in the terminal that counts tests while they run, and is then removed."""

    def __init__(self, tests: int) -> None:
        self._tests, self._ended = tests, 0

    def step(self) -> None:
        """Count a test that has ended."""
        self._ended += 1
        self.show(f"{self._ended} of {self._tests} tests")

    def show(self, text: str = "") -> None:
        """Show a text in place of the line; without one, remove it."""
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{'':{NARROWEST // 2}}\r{text}", end="", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- for students


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


def student_lines(results: Results, files: str, terminal: Terminal) -> list[str]:
    """Return the lines of a run's report.

    Args:
        files: from files_line.
    """
    report = Report.of(results, staff=False, is_judged=False)
    colour = "green" if all(map(is_fine, report.tests)) else "bold"
    lines = [terminal.painted(line, colour) for line in terminal.fitted(report.headline)]
    lines += [*terminal.fitted(files, hanging="  "), ""]
    is_alone = len(report.questions) == 1
    reached = report.select(lambda test: state(test) is not State.NOT_REACHED)
    if is_alone:
        for test in reached.tests:
            lines += _test(test, reached.causes, terminal)
    else:
        lines += _questions(reached, terminal)
    unreached = [test.spec for test in report.tests if state(test) is State.NOT_REACHED]
    if unreached:
        names = dict.fromkeys(spec.test_id if is_alone else spec.number for spec in unreached)
        lines += terminal.fitted(f"Not run: {', '.join(names)}", hanging="  ")
    for warning in results.facts.get("warnings", []):
        lines += terminal.fitted(f"Warning: {warning}", hanging="  ")
    return [*lines, f"seed {results.seed}"]


def _questions(report: Report, terminal: Terminal) -> list[str]:
    """Return the lines of several questions; those without points that need none share two."""
    lines, waiting, finished = [], [], []
    for_points = {question.number for question in report.questions if question.has_points}
    for question in report.questions:
        here = [cause for cause in report.causes if cause.explained(question.tests)]
        concerned = {test.spec.number for cause in here for test in cause.tests}
        begun = question.passed or not here or not all(cause.is_unwritten for cause in here)
        if not begun and not concerned & for_points:
            waiting.append(question.number)
        elif question.is_folded and _is_finished(question):
            finished.append(question.number)
        else:
            lines += _question(question, here, terminal)
    for kind, numbers in (("all basic tests passed", finished), ("nothing written yet", waiting)):
        if numbers:
            line = f"{NO_POINTS}, {kind}: {', '.join(numbers)}"
            lines += terminal.fitted(line, " " * NUMBER, " " * NUMBER + "  ")
    return lines


def _is_finished(question: Question) -> bool:
    """Return whether a question is fine as far as it is graded here, and printed nothing."""
    return all(is_fine(test) and not test.output for test in question.tests)


def _test(test: TestResult, causes: Sequence[Cause], terminal: Terminal) -> list[str]:
    """Return a test's lines, if only one question was selected."""
    cause = next((cause for cause in causes if cause.explained([test])), None)
    first = test.spec if cause is None else cause.tests[0].spec
    is_first = first == test.spec
    outcome = test.outcome.value if is_first else f"as {first.test_id}"
    head, *rest = terminal.fitted(
        f"{test.spec.test_id:<13}{outcome:<16}{test.description}", hanging=" " * 29
    )
    colour = COLOURS.get(state(test), "red")
    lines = [head.replace(outcome, terminal.painted(outcome, colour), 1), *rest]
    is_open = test.spec.is_hidden and state(test) is State.GRADED_LATER
    if is_first and not is_open and state(test) is not State.PASSED:
        lines += _message(cause.message if cause else test.message, INDENT, terminal)
    return lines + [INDENT + line for line in _printed(test)]


def _printed(test: TestResult) -> list[str]:
    if not test.output:
        return []
    printed = test.output.splitlines()
    lines = ["your code's output:", *(f"| {line}" for line in printed[:PRINTED_LINES])]
    if len(printed) > PRINTED_LINES:
        lines.append(f"| ... and {len(printed) - PRINTED_LINES} more lines")
    return lines


def _question(question: Question, causes: Sequence[Cause], terminal: Terminal) -> list[str]:
    """Return a question's lines, if several were selected: just one if it is enough."""
    kind = "basic" if question.has_points else NO_POINTS
    status = f"{kind} {question.in_short}" if question.now else kind
    text, beneath = question.title, []
    if len(causes) == 1 and "\n" not in causes[0].message:
        text = _explained(causes[0], question)
    else:
        for cause in causes:
            beneath += _message(_explained(cause, question), " " * NUMBER, terminal)
    head, *rest = terminal.fitted(
        f"{question.number:<{NUMBER}}{status:<{STATUS}}{text}", hanging=" " * (NUMBER + STATUS)
    )
    colour = "red" if any(not cause.is_unwritten for cause in causes) else "yellow"
    if not causes and question.now and question.passed == question.now:
        colour = "green"
    head = head.replace(status, terminal.painted(status, colour), 1)
    if any(test.output for test in question.tests):
        command = f"python src/grader.py {question.number}"
        rest.append(" " * NUMBER + f"your code has output: {command} shows it")
    return [head, *rest, *beneath]


def _explained(cause: Cause, question: Question) -> str:
    """Return a cause with the tests of a question that it explains.

    It is shown in full with the first question that it concerns.
    """
    first, mine = cause.tests[0].spec, cause.explained(question.tests)
    which = mine[0].spec.test_id + f" and {len(mine) - 1} more" * (len(mine) > 1)
    failing = [test for test in question.tests if not is_fine(test)]
    prefix = "" if len(mine) == len(failing) else f"{which}: "
    if first.number != question.number:
        return f"{prefix}as {first.test_id}"
    numbers = list(dict.fromkeys(test.spec.number for test in cause.tests))[1:]
    few = len(numbers) <= OTHERS_SHOWN
    also = ", ".join(numbers) if few else f"{len(numbers)} other questions"
    head, *more = cause.in_short.split("\n")
    return "\n".join([f"{prefix}{head}{f' (and in {also})' if numbers else ''}", *more])


def _message(message: str, indent: str, terminal: Terminal) -> list[str]:
    lines = []
    for line in message.splitlines():
        inner = indent + " " * (len(line) - len(line.lstrip()))
        lines += terminal.fitted(line.strip(), inner, inner + "  ")
    return lines


# ---------------------------------------------------------------- for staff


def show_staged(staged: Staged) -> None:
    """Print which files are graded, which were left out, and which are still missing."""
    print(f"Taken: {len(staged.taken)} files")
    folders: dict[str, list[str]] = {}
    for name, origin in staged.taken.items():
        folder = origin.removesuffix(name.rsplit("/", 1)[-1])
        folders.setdefault(folder, []).append(name.rsplit("/", 1)[-1])
    for folder, names in folders.items():
        print(f"  {printable.line(folder)}  {' '.join(sorted(names))}")
    if staged.added:
        print(f"  added by the grader  {' '.join(staged.added)}")
    for omission in staged.omissions:
        print(f"  left out: {omission}")
    if staged.missing:
        print(f"Not there yet: {' '.join(staged.missing)}")
    for name in staged.renamed:
        print(f"  {staged.hint(name)}")
    print()


def show_result(test: TestResult) -> None:
    """Print one test's line and, if it did not pass, what to do about it."""
    spec = test.spec
    worth = f"{points(test.score)}/{points(spec.max_score)}"
    print(f"{spec.test_id:<13}{test.outcome.value:<16}{worth:>11}  {test.description}")
    lines = [] if state(test) is State.PASSED else test.message.splitlines()
    lines += [] if spec.is_hidden else _printed(test)
    if test.detail:
        lines += ["for staff:", *(f"  {line}" for line in test.detail.splitlines())]
    for line in lines:
        print(INDENT + line)


def show_next(results: Results, test: TestResult) -> None:
    """Print a test that has ended, and all before it; a folded question takes one line."""
    report = Report.of(results, staff=True)
    (question,) = (each for each in report.questions if each.number == test.spec.number)
    if not question.is_folded or state(test) is State.GRADER_FAILED:
        show_result(test)
    if question.is_folded and question.tests[-1].spec == test.spec:
        head = f"{question.number:<13}{NO_POINTS:<16}{'':>11}"
        print(f"{head}  {question.title}: {question.in_tests}")


def show_summary(results: Results) -> None:
    """Print the points by question, and the total of the selected tests."""
    report = Report.of(results, staff=True)
    print()
    for question in (q for q in report.questions if not q.is_folded):
        _show_points(question.score, question.worth, question.title, question.number)
    _show_points(results.score, results.max_score, f"points in all{results.only}")
    if report.folded.tests:
        first = report.folded.tests[0].spec.number
        words = report.folded.in_tests
        print(f"Without points: {words}; name a question, such as {first}, to see them.")
    if ungraded := report.count(State.GRADED_LATER):
        print(f"{ungraded} hidden tests ran without crashing; they are graded when you submit.")
    if report.count(State.GRADER_FAILED):
        print("THE GRADER FAILED in at least one test: no score of this run counts. Tell staff.")
    for warning in results.facts.get("warnings", []):
        print(f"Warning: {warning}")
    print(identity(results))


def _show_points(score: Decimal, worth: Decimal, what: str, number: str = "") -> None:
    print(f"{number:<5}{points(score):>6} / {points(worth):<6}{what}")
