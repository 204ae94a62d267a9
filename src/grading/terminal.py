"""What students read in a terminal: a summary, what changed, then each cause of failures once."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from . import findings, paths, printable
from .report import Cause, Question, Report
from .results import Results, State, TestResult, write_atomically
from .runner import ResultsFile
from .staging import Staged, listed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PRINTED_LINES = 20
NO_POINTS = "no points"
OMISSIONS_SHOWN = 3
OTHERS_SHOWN = 4
NUMBER, STATUS = 5, 18  # widths of columns
INDENT = " " * 6  # below a test
COLOURS = {State.PASSED: "green"} | dict.fromkeys(
    (State.GRADED_LATER, State.DROPPED, State.NOT_RUN, State.NOT_REACHED), "yellow"
)
HANGING = 2  # columns before what continues a line
NARROWEST = 40  # columns; narrower text is no easier to read than text that is too wide
MOST_FINDINGS = 3
MORE_FINDINGS = "Warning: and {} more; python src/collect_submission.py prints all"
FOLDER, FILE = ".grading", "last.json"  # git ignores the folder, because it says so itself
DID_NOT_RUN = (State.NOT_RUN, State.NOT_REACHED, State.GRADER_FAILED)
# How a result changed, of one test and of several. A hidden test passes nowhere but on Gradescope.
CHANGES = {
    State.PASSED: ("newly passes", "newly pass"),
    State.GRADED_LATER: ("runs now", "run now"),
    State.FAILED: ("fails now", "fail now"),
}


@dataclass(frozen=True)
class Line:
    """A line of text, which takes several in a terminal if it is too long.

    Attributes:
        head: what stands in the columns before the text: nothing, an indent, or names.
        style: rich's style of the head, or of the text if the head is blank.
    """

    text: str
    head: str = ""
    style: str = ""

    def parts(self, console: Console) -> Iterator[Text]:
        """Yield lines that fit; no word is cut in two."""
        from rich.text import Text

        is_blank, width = not self.head.strip(), max(console.width, NARROWEST)
        parts = textwrap.wrap(
            self.text,
            width if len(self.head) + len(self.text) > width else sys.maxsize,
            initial_indent=self.head,
            subsequent_indent=" " * (len(self.head) + HANGING * is_blank),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for place, part in enumerate(parts or [self.head]):
            text = Text(part)
            if is_blank or not place:
                text.stylize(self.style, 0, None if is_blank else len(self.head))
            yield text


def console_on(stream: TextIO | None) -> Console | None:
    """Return rich's console where people see colours (no-color.org); None: text stays plain."""
    if stream is None or not stream.isatty() or os.environ.get("NO_COLOR"):
        return None
    try:
        from rich.console import Console  # only here: it takes a tenth of a second
    except ImportError:  # an environment from before the course needed rich
        return None
    return Console(file=stream, highlight=False)


def show(lines: Iterable[Line]) -> None:
    """Print lines."""
    console = console_on(sys.stdout)
    for line in lines:
        if console is None:
            print(line.head + line.text)
        else:
            for part in line.parts(console):
                console.print(part, soft_wrap=True)


@contextmanager
def bar(unit: str, is_shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Show progress in a terminal while the block runs; yield what moves the bar: (done, total)."""
    console = console_on(sys.stderr) if is_shown else None
    if console is None:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    columns = (BarColumn(), MofNCompleteColumn(), unit)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total, refresh=True)


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


def student_lines(results: Results, notes: Iterable[str]) -> list[Line]:
    """Return the lines of a run's report.

    Args:
        notes: lines below the headline.
    """
    report = Report.of(results, staff=False, is_judged=False)
    colour = "green" if all(test.is_fine for test in report.tests) else "bold"
    lines = [Line(report.headline, style=colour), *map(Line, notes), Line("")]
    is_alone = len(report.questions) == 1
    reached = report.select(lambda test: test.state is not State.NOT_REACHED)
    if is_alone:
        for test in reached.tests:
            lines += _test(test, reached.causes)
    else:
        lines += _questions(reached)
        dropped = (test for test in reached.tests if test.state is State.DROPPED)
        lines += [Line(f"{test.spec.test_id} is dropped; {test.message}") for test in dropped]
    unreached = [test.spec for test in report.tests if test.state is State.NOT_REACHED]
    if unreached:
        names = dict.fromkeys(spec.test_id if is_alone else spec.number for spec in unreached)
        lines.append(Line(f"Not run: {', '.join(names)}"))
    lines += [Line(f"Warning: {warning}") for warning in results.facts.get("warnings", [])]
    return [*lines, Line(f"seed {results.seed}")]


def _questions(report: Report) -> list[Line]:
    """Return the lines of several questions; those without points that need none share two."""
    lines: list[Line] = []
    waiting, finished = [], []
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
            lines += _question(question, here)
    for kind, numbers in (("all basic tests passed", finished), ("nothing written yet", waiting)):
        if numbers:
            lines.append(Line(f"{NO_POINTS}, {kind}: {', '.join(numbers)}", " " * NUMBER))
    return lines


def _test(test: TestResult, causes: Sequence[Cause]) -> list[Line]:
    """Return a test's lines, if only one question was selected."""
    cause = next((cause for cause in causes if cause.explained([test])), None)
    first = test.spec if cause is None else cause.tests[0].spec
    is_first = first == test.spec
    outcome = test.outcome.value if is_first else f"as {first.test_id}"
    head = f"{test.spec.test_id:<13}{outcome:<16}"
    lines = [Line(test.description, head, COLOURS.get(test.state, "red"))]
    is_open = test.spec.is_hidden and test.state is State.GRADED_LATER
    if is_first and not is_open and test.state is not State.PASSED:
        lines += _message(cause.message if cause else test.message, INDENT)
    return lines + [Line(line, INDENT) for line in printed(test)]


def printed(test: TestResult) -> list[str]:
    """Return the first lines of what a test's code printed, below a heading."""
    lines = [f"| {line}" for line in test.output.splitlines()]
    if len(lines) > PRINTED_LINES:
        lines[PRINTED_LINES:] = [f"| ... and {len(lines) - PRINTED_LINES} more lines"]
    return ["your code's output:", *lines] if lines else []


def _question(question: Question, causes: Sequence[Cause]) -> list[Line]:
    """Return a question's lines, if several were selected: just one if it is enough."""
    kind = "basic" if question.has_points else NO_POINTS
    status = f"{kind} {question.in_short}" if question.now else kind
    text = question.title
    beneath: list[Line] = []
    if len(causes) == 1 and "\n" not in causes[0].message:
        text = _explained(causes[0], question)
    else:
        for cause in causes:
            beneath += _message(_explained(cause, question), " " * NUMBER)
    colour = "red" if any(not cause.is_unwritten for cause in causes) else "yellow"
    if not causes and question.now and question.passed == question.now:
        colour = "green"
    lines = [Line(text, f"{question.number:<{NUMBER}}{status:<{STATUS}}", colour)]
    if any(test.output for test in question.tests):
        command = f"python src/grader.py {question.number}"
        lines.append(Line(f"your code has output: {command} shows it", " " * NUMBER))
    return lines + beneath


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


def _message(message: str, indent: str) -> list[Line]:
    lines = message.splitlines()
    return [Line(r.lstrip(), indent + " " * (len(r) - len(r.lstrip()))) for r in lines]


class StudentConsole(ResultsFile):
    """Prints a report at the end, which begins with a summary.

    Args:
        counts: whether a run of the student's own folder is compared with the last one, and what is
            wrong with its files is shown.

    Attributes:
        move: moves a bar; see `bar`.
    """

    move: Callable[[int, int], None]

    def __init__(self, path: Path | None, counts: bool) -> None:
        super().__init__(path)
        self._counts = counts

    def staged(self, staged: Staged) -> None:
        self._staged, self._counts = staged, self._counts and staged.is_checkout
        self.folders = {Path(origin).parent for origin in staged.taken.values()}

    def started(self, results: Results) -> None:
        super().started(results)
        self._done, self._tests = 0, len(results.selected_tests)
        self._notes = [files_line(self._staged)]
        if self._counts:
            lines = findings.of_files(self._staged, results.edition)
            self._notes += [f"Warning: {line}" for line in lines[:MOST_FINDINGS]]
            if len(lines) > MOST_FINDINGS:
                self._notes.append(MORE_FINDINGS.format(len(lines) - MOST_FINDINGS))

    def ended(self, result: TestResult) -> None:
        super().ended(result)
        self._done += 1
        self.move(self._done, self._tests)

    def finish(self) -> None:
        if self._results is not None:
            show(student_lines(self._results, self.notes()))

    def notes(self) -> list[str]:
        """Return the lines below the headline, and keep the results for the next run."""
        assert self._results is not None  # the run has started
        news = [_since_last(self._results)] if self._counts else []
        return [*filter(None, news), *self._notes]


def _since_last(results: Results) -> str:
    """Return a line on what changed since the last run, or ""; keep which tests are fine.

    Another edition, or other tests, begin anew. Nothing depends on the file: where it can't be read
    or written, nothing is compared.
    """
    file = paths.ROOT / FOLDER / FILE
    tests, last = _fingerprint(results), dict[str, bool]()
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        content = json.loads(file.read_text(encoding="utf-8"))
        last = dict(content["fine"]) if content["tests"] == tests else {}
    ran = [test for test in results.selected_tests if test.state not in DID_NOT_RUN]
    fine = last | {test.spec.test_id: test.is_fine for test in ran}
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        (file.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        write_atomically(file, json.dumps({"tests": tests, "fine": fine}, indent=1) + "\n")
    changed: dict[State, list[str]] = {state: [] for state in CHANGES}
    for test in ran:
        if last.get(test.spec.test_id, test.is_fine) != test.is_fine:
            changed[test.state if test.is_fine else State.FAILED].append(test.spec.test_id)
    clauses = [f"{listed(ids)} {CHANGES[s][len(ids) > 1]}" for s, ids in changed.items() if ids]
    return f"Since the last run: {'; '.join(clauses)}" if clauses else ""


def _fingerprint(results: Results) -> str:
    """Return a hash of the edition and of its tests."""
    digest = hashlib.sha256(repr(results.edition).encode())
    for path in sorted(paths.QUESTIONS.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
