"""What students read in a terminal: a summary, then each cause of failures once."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from . import printable
from .report import Cause, Question, Report
from .results import Results, State, TestResult
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
        if self.width is None or len(indent) + len(text) <= self.width:
            return [indent + text]
        return textwrap.wrap(
            text,
            max(self.width, NARROWEST),
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )

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


def student_lines(results: Results, notes: Iterable[str], terminal: Terminal) -> list[str]:
    """Return the lines of a run's report.

    Args:
        notes: lines below the headline.
    """
    report = Report.of(results, staff=False, is_judged=False)
    colour = "green" if all(test.is_fine for test in report.tests) else "bold"
    lines = [terminal.painted(line, colour) for line in terminal.fitted(report.headline)]
    for note in notes:
        lines += terminal.fitted(note, hanging="  ")
    lines.append("")
    is_alone = len(report.questions) == 1
    reached = report.select(lambda test: test.state is not State.NOT_REACHED)
    if is_alone:
        for test in reached.tests:
            lines += _test(test, reached.causes, terminal)
    else:
        lines += _questions(reached, terminal)
    unreached = [test.spec for test in report.tests if test.state is State.NOT_REACHED]
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
        elif question.is_folded and all(t.is_fine and not t.output for t in question.tests):
            finished.append(question.number)
        else:
            lines += _question(question, here, terminal)
    for kind, numbers in (("all basic tests passed", finished), ("nothing written yet", waiting)):
        if numbers:
            line = f"{NO_POINTS}, {kind}: {', '.join(numbers)}"
            lines += terminal.fitted(line, " " * NUMBER, " " * NUMBER + "  ")
    return lines


def _test(test: TestResult, causes: Sequence[Cause], terminal: Terminal) -> list[str]:
    """Return a test's lines, if only one question was selected."""
    cause = next((cause for cause in causes if cause.explained([test])), None)
    first = test.spec if cause is None else cause.tests[0].spec
    is_first = first == test.spec
    outcome = test.outcome.value if is_first else f"as {first.test_id}"
    head, *rest = terminal.fitted(
        f"{test.spec.test_id:<13}{outcome:<16}{test.description}", hanging=" " * 29
    )
    colour = COLOURS.get(test.state, "red")
    lines = [head.replace(outcome, terminal.painted(outcome, colour), 1), *rest]
    is_open = test.spec.is_hidden and test.state is State.GRADED_LATER
    if is_first and not is_open and test.state is not State.PASSED:
        lines += _message(cause.message if cause else test.message, INDENT, terminal)
    return lines + [INDENT + line for line in printed(test)]


def printed(test: TestResult) -> list[str]:
    """Return the first lines of what a test's code printed, below a heading."""
    lines = [f"| {line}" for line in test.output.splitlines()]
    if len(lines) > PRINTED_LINES:
        lines[PRINTED_LINES:] = [f"| ... and {len(lines) - PRINTED_LINES} more lines"]
    return ["your code's output:", *lines] if lines else []


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
    failing = [test for test in question.tests if not test.is_fine]
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
