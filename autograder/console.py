"""What staff read in a terminal: each test as it ends, with its points, then points by question."""

from decimal import Decimal

from grading.edition import Edition
from grading.errors import safe_line
from grading.report import INDENT, NO_POINTS, Report, identity, points, printed
from grading.staging import Staged
from grading.verdicts import Results, State, TestResult


def show_release(edition: Edition) -> None:
    if edition.release:
        print(f"Release {edition.release} of {edition.name}")


def show_staged(staged: Staged) -> None:
    """Print which files are graded, which were left out, and which are still missing."""
    print(f"Taken: {len(staged.taken)} files")
    folders: dict[str, list[str]] = {}
    for name, origin in staged.taken.items():
        folder = origin.removesuffix(name.rsplit("/", 1)[-1])
        folders.setdefault(folder, []).append(name.rsplit("/", 1)[-1])
    for folder, names in folders.items():
        print(f"  {safe_line(folder)}  {' '.join(sorted(names))}")
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
    lines = [] if test.state is State.PASSED else test.message.splitlines()
    lines += [] if spec.is_hidden else printed(test)
    if test.detail:
        lines += ["for staff:", *(f"  {line}" for line in test.detail.splitlines())]
    for line in lines:
        print(INDENT + line)


def show_next(results: Results, test: TestResult) -> None:
    """Print a test that has ended, and all before it; a folded question takes one line."""
    report = Report.of(results, staff=True)
    (question,) = (each for each in report.questions if each.number == test.spec.number)
    if not question.is_folded or test.state is State.GRADER_FAILED:
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
