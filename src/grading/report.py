"""What a run means to its readers: the one model that terminals, pages and Gradescope show.

A report has questions, which have tests, and causes, which explain the tests that did not pass. It
decides what is counted how, which cause explains which test, and what a student may read. On a
student's computer, where hidden tests are not judged, it counts tests and not points. In a
terminal, students read a summary, what changed, then each cause of failures once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import grading

from . import release
from .errors import safe_line
from .runner import ResultsFile
from .staging import Staged, listed
from .verdicts import FINE, Outcome, Results, State, TestResult, write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

TEMPLATES = Path(__file__).with_name("templates")
TEMPLATE = TEMPLATES / "result.html.j2"
# W3C, level 3; the hashes of a page's own style sheets follow.
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src"
BAR_WIDTH = 240
EARNED, LOST, LATER = "currentColor", "url(#lost)", "url(#later)"  # the template's patterns
# Control and format characters, halves of surrogate pairs, and line ends that editors don't show.
ODD = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Joiners are part of the spelling of Persian and Indian names, and of emoji.
HARMLESS = "\n\t\u200c\u200d"
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


def points(value: Decimal) -> str:
    """Format points: 2.00 as "2", 0.50 as "0.5"."""
    return f"{value.normalize():f}" if value else "0"


def share(score: Decimal, worth: Decimal) -> str:
    """Format points and their maximum: "7 of 10"."""
    return f"{points(score)} of {points(worth)}" if score or worth else NO_POINTS


@dataclass(frozen=True)
class Group:
    """Tests that are counted together."""

    tests: tuple[TestResult, ...]
    is_judged: bool  # whether hidden tests are judged here: not on a student's computer

    @property
    def score(self) -> Decimal:
        return sum((test.score for test in self.tests), Decimal(0))

    @property
    def worth(self) -> Decimal:
        return sum((test.spec.max_score for test in self.tests), Decimal(0))

    @property
    def passed(self) -> int:
        return self.count(State.PASSED)

    @property
    def dropped(self) -> int:
        return self.count(State.DROPPED)

    def count(self, which: State) -> int:
        return sum(test.state is which for test in self.tests)

    def is_later(self, test: TestResult) -> bool:
        """Return whether a test is graded when it is submitted, even if it fails already."""
        ended = test.state in (State.PASSED, State.DROPPED)
        unjudged = test.spec.is_hidden and not self.is_judged and not ended
        return unjudged or test.state is State.GRADED_LATER

    def is_open(self, test: TestResult) -> bool:
        """Return whether a test's points are neither earned nor lost: it may pass later."""
        return self.is_later(test) and test.state in (*FINE, State.NOT_RUN, State.NOT_REACHED)

    @cached_property
    def now(self) -> int:
        """The number of tests that are graded here."""
        return sum(not self.is_later(test) for test in self.tests) - self.dropped

    @property
    def in_tests(self) -> str:
        """How many passed: "3 of 5 tests passed, 1 not graded here"."""
        words = f"{self.passed} of {len(self.tests) - self.dropped} tests passed"
        waiting = self.count(State.GRADED_LATER)
        words += f", {waiting} not graded here" if waiting else ""
        return f"{words}, {self.dropped} dropped" if self.dropped else words

    @property
    def in_short(self) -> str:
        """How it went, in a cell's few words: points, or how many tests passed: "7 of 10"."""
        if self.is_judged:
            return share(self.score, self.worth)
        return f"{self.passed} of {self.now}" if self.now else "none"

    @property
    def in_words(self) -> str:
        """How it went: "7 of 10 points", or "basic 4 of 4; 9 hidden tests are graded when ..."."""
        if not self.is_judged:
            return "; ".join(self.progress("basic"))
        return f"{self.in_short} points" if self.worth else self.in_short

    def progress(self, kind: str) -> list[str]:
        """Say how many tests passed, as in "basic 4 of 4", and how many are graded later."""
        words = [f"{kind} {self.in_short}"] if self.now else []
        later = [test for test in self.tests if self.is_later(test)]
        if later:
            hidden = "hidden " if all(test.spec.is_hidden for test in later) else ""
            many = f"{len(later)} {hidden}test{'s are' if len(later) > 1 else ' is'}"
            failing = sum(not self.is_open(test) for test in later)
            already = f" ({failing} fail{'s' * (failing == 1)} already)" if failing else ""
            words.append(f"{many} graded when you submit{already}")
        if self.dropped:
            words.append(f"{self.dropped} test{'s are' if self.dropped > 1 else ' is'} dropped")
        return words

    def points_of(self, test: TestResult) -> str:
        """Return what a test earns: "7 of 10", or "worth 10" if that is decided later."""
        worth = test.spec.max_score
        if worth and self.is_open(test):
            return f"worth {points(worth)}"
        return share(test.score, worth)

    @property
    def bar(self) -> list[tuple[str, str, str]]:
        """The points as parts of a bar, each with its place, width and filling."""
        later = sum((t.spec.max_score for t in self.tests if self.is_open(t)), Decimal(0))
        lost = self.worth - self.score - later
        parts, place = [], 0.0
        for part, filling in ((self.score, EARNED), (lost, LOST), (later, LATER)):
            width = float(part / self.worth) * BAR_WIDTH
            if part:
                parts.append((f"{place:.1f}", f"{width:.1f}", filling))
            place += width
        return parts


@dataclass(frozen=True)
class Cause:
    """A reason why tests did not pass, as one of them shows it, and all tests that it explains."""

    shown_by: TestResult
    tests: tuple[TestResult, ...]

    @property
    def is_unwritten(self) -> bool:
        return self.shown_by.state is State.NOT_BEGUN

    @property
    def message(self) -> str:
        """What is wrong; if several files are missing, all of them."""
        hints = {test.missing_file: test.hint for test in self.tests if test.missing_file}
        if len(hints) <= 1:
            return self.shown_by.message
        advice = [hint for hint in hints.values() if hint]
        if not all(hints.values()):
            advice.append("the question's commands write them")
        return f"missing: {', '.join(hints)}; {'; '.join(advice)}"

    @property
    def in_short(self) -> str:
        """The message without what a stub says, which its position already tells."""
        test = self.shown_by
        is_stub = self.is_unwritten and test.where and not test.spec.is_hidden
        return f"not written yet: {test.where}" if is_stub else self.message

    def explained(self, tests: Iterable[TestResult]) -> list[TestResult]:
        """Return those of these tests that this explains."""
        return [test for test in tests if test in self.tests]


@dataclass(frozen=True)
class Question(Group):
    """A question, and those of its tests that were selected."""

    number: str
    title: str
    has_points: bool
    is_folded: bool  # whether it is shown as one line: it has no points, and was not named


@dataclass(frozen=True)
class Report(Group):
    """The selected tests of a run, in the edition's order."""

    questions: tuple[Question, ...]  # those with selected tests
    release: str = ""  # its name, where it is known

    @classmethod
    def of(cls, results: Results, staff: bool, is_judged: bool = True) -> Report:
        """Return the report of a run; for the arguments, see `of_tests`."""
        questions = results.edition.questions
        titles = {question.number: question.title for question in questions}
        paid = {question.number for question in questions if question.coding}
        tests, all_selected = results.selected_tests, not results.selection
        shown = cls.of_tests(tests, titles, paid, all_selected, staff, is_judged)
        return replace(shown, release=results.edition.release)

    @classmethod
    def of_tests(
        cls,
        tests: Iterable[TestResult],
        titles: Mapping[str, str],
        paid: Container[str],
        folds: bool,
        staff: bool,
        is_judged: bool = True,
    ) -> Report:
        """Return the report of tests.

        Args:
            titles: the titles of questions by their numbers, in order.
            paid: the numbers of the questions that have points.
            folds: whether all others are folded.
            staff: whether it also contains what only staff may read: details, and what hidden tests
                printed.
            is_judged: see Group.
        """
        seen = tuple(test if staff else test.for_student() for test in tests)
        by_number: dict[str, list[TestResult]] = {number: [] for number in titles}
        for test in seen:
            by_number[test.spec.number].append(test)
        questions = tuple(
            Question(tuple(own), is_judged, n, titles[n], n in paid, folds and n not in paid)
            for n, own in by_number.items()
            if own
        )
        return cls(seen, is_judged, questions)

    def select(self, keep: Callable[[TestResult], bool]) -> Report:
        """Return the report of only those tests for which `keep` is true."""
        kept = [replace(q, tests=tuple(filter(keep, q.tests))) for q in self.questions]
        tests = tuple(filter(keep, self.tests))
        return replace(self, tests=tests, questions=tuple(q for q in kept if q.tests))

    def part(self, keep: Callable[[Question], bool]) -> Group:
        """Return the tests of those questions for which `keep` is true."""
        tests = (test for question in self.questions if keep(question) for test in question.tests)
        return Group(tuple(tests), self.is_judged)

    @property
    def folded(self) -> Group:
        return self.part(lambda question: question.is_folded)

    @cached_property
    def causes(self) -> list[Cause]:
        """Why tests did not pass, in their order.

        A hidden test, which shows little, is explained by a basic one that crashed in the same way
        in the same function. All missing files of a question are one cause.
        """
        failing = [test for test in self.tests if not test.is_fine]
        groups: dict[tuple[Outcome, str], list[TestResult]] = {}
        by_place: dict[str, list[TestResult]] = {}
        for test in sorted(failing, key=lambda test: test.spec.is_hidden):
            group = by_place.get(test.place) if test.spec.is_hidden and test.place else None
            if group is None:
                about = test.spec.number if test.missing_file else test.message
                group = groups.setdefault((test.outcome, about), [])
                by_place.setdefault(test.place, group)
            group.append(test)
        causes = [
            Cause(group[0], tuple(sorted(group, key=failing.index))) for group in groups.values()
        ]
        return sorted(causes, key=lambda cause: failing.index(cause.tests[0]))

    @property
    def headline(self) -> str:
        """How it went on a student's computer: "basic 4 of 4; 12 hidden tests are graded ..."."""
        for_points = self.part(lambda question: question.has_points)
        others = self.part(lambda question: not question.has_points)
        words = [*for_points.progress("basic"), *others.progress("without points")[:1]]
        if not for_points.tests:
            words = [*others.progress("basic"), NO_POINTS]
        if self.count(State.GRADER_FAILED):
            words = ["THE GRADER FAILED in at least one test, which is not your fault: tell staff"]
        if self.release:
            words.append(f"release {self.release}")
        return "; ".join(words)

    @property
    def summary(self) -> str:
        """How it went, and what doesn't count, in a few sentences."""
        words = []
        if self.is_judged:
            words.append(f"{self.part(lambda question: not question.is_folded).in_tests}.")
        if self.count(State.GRADER_FAILED):
            words.append("The grader itself failed: the scores of this run don't count.")
        if not self.is_judged:
            words.append("Points are counted when you submit: hidden tests are not graded here.")
        elif self.count(State.GRADED_LATER):
            words.append("Hidden tests ran and are graded when you submit.")
        return " ".join(words)


def identity(results: Results) -> str:
    """Describe what was graded, when, and by what, which distinguishes two results."""
    facts = results.facts
    known = [
        ("", facts.get("submission")),
        ("files ", facts.get("digest", "")[:12]),
        ("", facts.get("graded")),
        ("edition ", results.edition.name),
        ("release ", results.edition.release),
        ("judged by ", facts.get("judged_by", "")[:12]),
        ("seed ", str(results.seed)),
    ]
    # The first word is fixed: no line begins with a submission's name.
    return "Graded: " + ", ".join(f"{words}{value}" for words, value in known if value)


def facts_of(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is needed to repeat a run, by name, from its results as plain data."""
    facts = results.get("facts", {})
    rows = [
        ("Submission", facts.get("submission", "")),
        ("Files", facts.get("digest", "")),
        ("Graded", facts.get("graded", "")),
        ("Asked", ", ".join(results.get("asked", [])) or "everything"),
        ("Edition", results.get("edition", "")),
        ("Seed", str(results.get("seed", ""))),
        ("Authoritative", "yes" if facts.get("authoritative") else "no: for information only"),
        ("Protected by", ", ".join(facts.get("layers", [])) or "nothing"),
        ("Versions", ", ".join(f"{k} {v}" for k, v in facts.get("versions", {}).items())),
        ("Release", facts.get("release", "")),
        ("Student's copy", " of ".join(facts.get("copy", {}).values()) or "not named"),
        ("Judged by", facts.get("judged_by", "")),
        ("Warnings", " ".join(facts.get("warnings", [])) or "none"),
        ("Code found in", facts.get("place") or "the usual folder"),
        ("Left out", "; ".join(facts.get("left", [])) or "nothing"),
    ]
    return [(name, safe_line(value, 20_000)) for name, value in rows]


def page(results: Results, report: Report, template: Path = TEMPLATE, **more: Any) -> str:
    """Return a run's report as a self-contained HTML file; `more` is for staff's template."""
    went = report.headline
    if report.is_judged:
        went = f"{points(results.score)} of {points(results.max_score)} points"
    values = {
        "title": f"{results.edition.title}: {went}{results.only}",
        "notes": [f"Report. {identity(results)}.", report.summary],
        "facts": facts_of(results.as_dict(staff=False)),
    }
    return render(template, report=report, **values | more)


def render(template: Path, *sheets: Path, **values: Any) -> str:
    """Return a self-contained page in which nothing that a student wrote can run.

    jinja2 escapes every value. The page's Content-Security-Policy allows only its style sheets, by
    their hashes, so a template can't use scripts, `style="..."` or pictures. Characters that would
    reverse or hide text are shown as `[U+202E]`. Names may be in any script: put them into `<bdi>`.

    Args:
        template: NAME.html.j2, which begins with `{% extends "page.html.j2" %}` and fills the block
            `content`; NAME.css beside it, if it exists, is part of the page.
        sheets: further style sheets, besides `page.css`.
        values: what the template shows; `title` is the page's title.
    """
    own = template.with_suffix("").with_suffix(".css")
    files = [TEMPLATES / "page.css", *sheets, *([own] if own.is_file() else [])]
    styles = [file.read_text(encoding="utf-8") for file in files]
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in styles]
    allowed = [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests]
    policy = " ".join([POLICY, *allowed])
    text = _template(template).render(values, styles=styles, policy=policy).replace("\r\n", "\n")
    odd = {c for c in set(text) if unicodedata.category(c) in ODD and c not in HARMLESS}
    return text.translate({ord(c): f"[U+{ord(c):04X}]" for c in odd})


@cache
def _template(path: Path) -> Any:
    import jinja2  # here, since the other views do without

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([path.parent, TEMPLATES], encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


# In a terminal ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line of text, which takes several in a terminal if it is too long."""

    text: str
    head: str = ""  # what stands in the columns before the text: nothing, an indent, or names
    style: str = ""  # rich's style of the head, or of the text if the head is blank

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
    from rich.console import Console  # only here: it takes a tenth of a second

    return Console(file=stream, highlight=False)


def show(lines: Iterable[Line]) -> None:
    console = console_on(sys.stdout)
    for line in lines:
        if console is None:
            print(line.head + line.text)
        else:
            for part in line.parts(console):
                console.print(part, soft_wrap=True)


@contextmanager
def bar(is_shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many tests have ended while the block runs; yield what moves the bar."""
    console = console_on(sys.stderr) if is_shown else None
    if console is None:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    columns = (BarColumn(), MofNCompleteColumn(), "tests")
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total, refresh=True)


def files_line(staged: Staged) -> str:
    """Return one line on which files are graded, and which were left out."""
    origins = staged.taken.items()
    folders = Counter(_near(where.removesuffix(name.rpartition("/")[2])) for name, where in origins)
    taken = " and ".join(f"{count} of {safe_line(f)}" for f, count in folders.items())
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
    """Return the lines of a run's report, with `notes` below the headline."""
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
    """Prints a report at the end, which begins with a summary."""

    move: Callable[[int, int], None]  # moves a bar; see `bar`

    def __init__(self, path: Path | None, counts: bool) -> None:
        super().__init__(path)
        # Whether a run of the student's own folder is compared with the last one, and what is wrong
        # with its files is shown.
        self._counts = counts

    def staged(self, staged: Staged) -> None:
        self._staged, self._counts = staged, self._counts and staged.is_checkout
        self.folders = {Path(origin).parent for origin in staged.taken.values()}

    def started(self, results: Results) -> None:
        super().started(results)
        self._done, self._tests = 0, len(results.selected_tests)
        self._notes = [files_line(self._staged)]
        if self._counts:
            lines = release.findings(self._staged, results.edition)
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
    file = grading.ROOT / FOLDER / FILE
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
    for path in sorted(grading.QUESTIONS.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
