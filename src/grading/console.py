"""What a person reads in the terminal."""

from __future__ import annotations

from decimal import Decimal

from . import printable
from .outcomes import Outcome
from .results import Results, TestResult
from .staging import Staged

INDENT = "      "


def points(value: Decimal) -> str:
    """Format points: 2.00 as "2", 0.50 as "0.5"."""
    return f"{value.normalize():f}" if value else "0"


def points_of(value: float) -> str:
    """Format points that were read from a file as a float, like `points`."""
    return points(Decimal(str(value)).quantize(Decimal("0.01")))


def show_staged(staged: Staged, required: tuple[str, ...]) -> None:
    """Say which files are graded, which were left behind, and which are still to come."""
    print(f"Taken: {len(staged.taken)} files")
    folders: dict[str, list[str]] = {}
    for name, origin in staged.taken.items():
        folder = origin.removesuffix(name.rsplit("/", 1)[-1])
        folders.setdefault(folder, []).append(name.rsplit("/", 1)[-1])
    for folder, names in folders.items():
        print(f"  {printable.line(folder)}  {' '.join(sorted(names))}")
    if staged.added:
        print(f"  ours, since the submission has none  {' '.join(staged.added)}")
    for left in staged.left:
        print(f"  left behind: {left}")
    missing = [name for name in required if name not in staged.taken]
    if missing:
        print(f"Not there yet: {' '.join(missing)}")
    print()


def show_result(result: TestResult, staff: bool) -> None:
    """Print one test's line, and where it did not pass, what to do about it."""
    spec = result.spec
    worth = f"{points(result.score)}/{points(spec.max_score)}"
    print(f"{spec.test_id:<13}{result.outcome.value:<16}{worth:>11}  {result.description}")
    if result.outcome is not Outcome.PASSED:
        for line in result.message.splitlines():
            print(INDENT + line)
    if result.output and not spec.is_hidden:
        print(INDENT + "your code printed:")
        for line in result.output.splitlines()[:20]:
            print(INDENT + "| " + line)
    if staff and result.detail:
        print(INDENT + "for staff:")
        for line in result.detail.splitlines():
            print(INDENT + "  " + line)


def show_summary(results: Results, staff: bool) -> None:
    """Print the points by question, and the total of what was asked."""
    print()
    asked = [t for t in results.tests if t.asked]
    for question in results.edition.questions:
        tests = [t for t in asked if t.spec.number == question.number]
        if tests:
            score = sum((t.score for t in tests), Decimal(0))
            worth = sum((t.spec.max_score for t in tests), Decimal(0))
            print(f"{question.number:<5}{points(score):>6} / {points(worth):<6}{question.title}")
    score = sum((t.score for t in asked), Decimal(0))
    worth = sum((t.spec.max_score for t in asked), Decimal(0))
    print(f"{'':<5}{points(score):>6} / {points(worth):<6}points in all")
    ungraded = sum(t.outcome is Outcome.RAN_NOT_GRADED for t in asked)
    if ungraded:
        print(f"{ungraded} hidden tests ran without crashing; they are graded when you submit.")
    if any(t.outcome is Outcome.GRADER_ERROR for t in asked):
        print("THE GRADER FAILED in at least one test: no score of this run counts. Tell staff.")
    for warning in results.facts.get("warnings", []):
        print(f"Warning: {warning}")
    print(f"seed {results.seed}")
