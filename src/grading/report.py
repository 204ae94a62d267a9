"""What a run means to its readers: the one model that terminals, pages and Gradescope show.

A report has questions, which have tests, and causes, which explain the tests that did not pass. It
decides what is counted how, which cause explains which test, and what a student may read. On a
student's computer, where hidden tests are not judged, it counts tests and not points.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from . import printable
from .results import FINE, Results, State, TestResult
from .verdicts import Outcome

TEMPLATES = Path(__file__).with_name("templates")
TEMPLATE = TEMPLATES / "result.html.j2"
BAR_WIDTH = 240
EARNED, LOST, LATER = "currentColor", "url(#lost)", "url(#later)"  # the template's patterns
# Control and format characters, halves of surrogate pairs, and line ends that editors don't show.
ODD = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Joiners are part of the spelling of Persian and Indian names, and of emoji.
HARMLESS = "\n\t\u200c\u200d"


def points(value: Decimal) -> str:
    """Format points: 2.00 as "2", 0.50 as "0.5"."""
    return f"{value.normalize():f}" if value else "0"


def share(score: Decimal, worth: Decimal) -> str:
    """Format points and their maximum: "7 of 10"."""
    return f"{points(score)} of {points(worth)}" if score or worth else "no points"


@dataclass(frozen=True)
class Group:
    """Tests that are counted together.

    Attributes:
        is_judged: whether hidden tests are judged here, which they are not on a student's computer.
    """

    tests: tuple[TestResult, ...]
    is_judged: bool

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
        """Count the tests in a state."""
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
        ids = {test.spec.test_id for test in self.tests}
        return [test for test in tests if test.spec.test_id in ids]


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
        """The tests of the questions that are shown as one line."""
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
            words = [*others.progress("basic"), "no points"]
        if self.count(State.GRADER_FAILED):
            words = ["THE GRADER FAILED in at least one test, which is not your fault: tell staff"]
        return "; ".join([*words, *([f"release {self.release}"] if self.release else [])])

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
    return [(name, printable.line(value, 20_000)) for name, value in rows]


def page(results: Results, report: Report, template: Path = TEMPLATE, **more: Any) -> str:
    """Return a run's report as a self-contained HTML file.

    Args:
        more: what staff's template shows besides.
    """
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
    return _visible(_template(template).render(values, styles=styles, policy=_policy(styles)))


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


def _visible(text: str) -> str:
    """Return a text in which characters that would reverse or hide text look like `[U+202E]`."""
    plain = text.replace("\r\n", "\n")
    odd = {c for c in set(plain) if unicodedata.category(c) in ODD and c not in HARMLESS}
    return plain.translate({ord(c): f"[U+{ord(c):04X}]" for c in odd}) if odd else plain


def _policy(styles: list[str]) -> str:
    """Return a Content-Security-Policy (W3C, level 3) that allows only these."""
    hashes = [hashlib.sha256(text.encode("utf-8")).digest() for text in styles]
    sources = [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in hashes]
    allowed = " ".join(["style-src", *sources])
    return f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}"
