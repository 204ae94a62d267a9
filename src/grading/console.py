"""Output in the terminal for staff."""

from __future__ import annotations

from decimal import Decimal

from . import printable
from .results import Results, TestResult
from .staging import Staged
from .verdicts import Outcome

INDENT = "      "


def points(value: Decimal) -> str:
    """Format points: 2.00 as "2", 0.50 as "0.5"."""
    return f"{value.normalize():f}" if value else "0"


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


def show_result(result: TestResult, staff: bool) -> None:
    """Print one test's line and, if it did not pass, what to do about it."""
    spec = result.spec
    worth = f"{points(result.score)}/{points(spec.max_score)}"
    print(f"{spec.test_id:<13}{result.outcome.value:<16}{worth:>11}  {result.description}")
    if result.outcome is not Outcome.PASSED:
        for line in result.message.splitlines():
            print(INDENT + line)
    if result.output and not spec.is_hidden:
        print(INDENT + "your code's output:")
        for line in result.output.splitlines()[:20]:
            print(INDENT + "| " + line)
    if staff and result.detail:
        print(INDENT + "for staff:")
        for line in result.detail.splitlines():
            print(INDENT + "  " + line)


class Teller:
    """Prints results as they come; a question without points takes one line unless named."""

    def __init__(self, results: Results, staff: bool) -> None:
        """
        Args:
            results: contain every result that is printed.
        """
        self._results, self._staff, self._folded = results, staff, results.folded

    def tell(self, result: TestResult) -> None:
        """Print a result; results arrive in the edition's order."""
        number = result.spec.number
        if number not in self._folded or result.outcome is Outcome.GRADER_ERROR:
            show_result(result, self._staff)
        tests = [t for t in self._results.tests if t.spec.number == number]
        if number in self._folded and tests[-1].spec == result.spec:
            (title,) = (q.title for q in self._results.edition.questions if q.number == number)
            print(f"{number:<13}{'no points':<16}{'':>11}  {title}: {passed_of(tests)}")


def passed_of(tests: list[TestResult]) -> str:
    """Describe how many of these tests passed."""
    passed = sum(t.outcome is Outcome.PASSED for t in tests)
    waiting = sum(t.outcome is Outcome.RAN_NOT_GRADED for t in tests)
    words = f"{passed} of {len(tests)} tests passed"
    return f"{words}, {waiting} not graded here" if waiting else words


def identity(results: Results) -> str:
    """Describe what was graded, when, and by what, which distinguishes two results."""
    facts = results.facts
    known = [
        ("", facts.get("submission")),
        ("files ", facts.get("digest", "")[:12]),
        ("", facts.get("graded")),
        ("edition ", results.edition.name),
        ("release ", facts.get("judged_by", "")[:12]),
        ("seed ", str(results.seed)),
    ]
    # The first word is fixed: no line begins with a submission's name.
    return "Graded: " + ", ".join(f"{words}{value}" for words, value in known if value)


def show_summary(results: Results, staff: bool) -> None:
    """Print the points by question, and the total of the selected tests."""
    print()
    asked, folded = results.asked, results.folded
    for question in results.edition.questions:
        tests = [t for t in asked if t.spec.number == question.number]
        if tests and question.number not in folded:
            score = sum((t.score for t in tests), Decimal(0))
            worth = sum((t.spec.max_score for t in tests), Decimal(0))
            print(f"{question.number:<5}{points(score):>6} / {points(worth):<6}{question.title}")
    score = sum((t.score for t in asked), Decimal(0))
    worth = sum((t.spec.max_score for t in asked), Decimal(0))
    print(f"{'':<5}{points(score):>6} / {points(worth):<6}points in all{results.only}")
    if folded:
        tests = [t for t in asked if t.spec.number in folded]
        first = next(t.spec.number for t in tests)
        print(f"Without points: {passed_of(tests)}; name a question, such as {first}, to see them.")
    ungraded = sum(t.outcome is Outcome.RAN_NOT_GRADED for t in asked)
    if ungraded:
        print(f"{ungraded} hidden tests ran without crashing; they are graded when you submit.")
    if any(t.outcome is Outcome.GRADER_ERROR for t in asked):
        print("THE GRADER FAILED in at least one test: no score of this run counts. Tell staff.")
    for warning in results.facts.get("warnings", []):
        print(f"Warning: {warning}")
    print(identity(results))
