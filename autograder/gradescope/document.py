"""results.json as Gradescope documents it, from a run's results.

An entry's `visibility` decides when students see it. An entry that they can't see yet also hides
their total, which is right if hidden tests' points are to wait (`after_published`); no entry ever
has the visibility `hidden`, with which its points would count without being visible anywhere.
"""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from grading.cases import Cases
from grading.edition import Assignment, TestSpec
from grading.errors import GradingError
from grading.report import Question, Report
from grading.verdicts import Outcome, Results, State, TestEnd, TestResult

from . import feedback

SCHEMA = Path(__file__).with_name("results.schema.json")
NO_CODE = (State.NOT_BEGUN, State.FILE_MISSING, State.NOT_RUN, State.NOT_REACHED)
RANKED = ("dev_accuracy", "test_accuracy", "matches_checkpoint")  # tests that a ranking requires
LATER = {
    "visible": "",
    "after_due_date": "Hidden tests, and so your total, become visible after the due date.",
    "after_published": "Hidden tests, and so your total, become visible when grades are published.",
}


def visibility(spec: TestSpec, hidden_tests: str) -> str:
    """Return when students see a test: basic ones at once, hidden ones when `hidden_tests` says."""
    if not spec.is_hidden:
        return "visible"
    return "after_published" if spec.after_published else hidden_tests


def document(
    results: Results,
    hidden_tests: str,
    notes: list[str],
    extra: dict[str, Any],
    execution_s: float,
) -> dict[str, Any]:
    """Return the content of results.json.

    Args:
        hidden_tests: when hidden tests become visible: one of `grading.edition.VISIBILITIES`.
        notes: sentences for the student, shown above the points; empty ones are left out.
        extra: facts for staff, besides edition and seed.
        execution_s: wall seconds that the run took.
    """
    report = Report.of(results, staff=False)
    later = sorted({LATER[visibility(t.spec, hidden_tests)] for t in report.tests})
    sentences = [feedback.plain(feedback.shortened(note)) for note in (*notes, *later) if note]
    lines = _by_question(report, hidden_tests)
    entries, not_begun = _entries(report, hidden_tests)
    facts = {"edition": results.edition.name, "seed": str(results.seed), "not_begun": not_begun}
    content = {
        "visibility": "visible",
        "stdout_visibility": "hidden",  # it contains staff's details
        "execution_time": round(execution_s),
        "output_format": "md",
        "output": "\n\n".join([*sentences, feedback.fenced("\n".join(lines), most=60)]),
        "extra_data": extra | facts,
        "tests": entries,
    }
    total = float(results.score)
    if all(entry["visibility"] == "visible" for entry in entries):
        return content | {"score": total}
    _sum_exactly(entries, total)  # a total here would show what is to wait
    return content


def _entries(
    report: Report, hidden_tests: str
) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Return an entry for each test, and one per question without points.

    Such a question has two if its hidden tests become visible later than the basic ones. If it was
    not begun, it has none, because it would be red. Its outcomes are returned by topic, for staff.
    """
    shown: list[dict[str, Any]] = []
    not_begun: dict[str, dict[str, str]] = {}
    for question in report.questions:
        moments: dict[str, list[TestResult]] = {}
        for test in question.tests:
            moment = visibility(test.spec, hidden_tests)
            moments.setdefault(moment if question.is_folded else test.spec.test_id, []).append(test)
        for tests in moments.values():
            spec, outcomes = tests[0].spec, {t.spec.test_id: t.outcome.value for t in tests}
            counted = [test for test in tests if test.state is not State.DROPPED]
            if question.is_folded and counted and all(test.state in NO_CODE for test in counted):
                not_begun.setdefault(spec.topic, {}).update(outcomes)
                continue
            entry = _entry(replace(question, tests=tuple(tests)))
            entry["visibility"] = visibility(spec, hidden_tests)
            shown.append(entry | {"extra_data": {"outcomes": outcomes}})
    return shown, not_begun


def _entry(question: Question) -> dict[str, Any]:
    """Return the entry of one test, or of a folded question's tests.

    Without points, Gradescope shows the status only.
    """
    test, spec = question.tests[0], question.tests[0].spec
    name, output = f"{spec.test_id}: {test.description}", feedback.of_test(test)
    tags = [spec.topic, spec.kind] + ["extra credit"] * spec.is_extra_credit
    if question.is_folded:
        name, output = f"{spec.number}: {question.title}", feedback.of_practice(question)
        tags = [spec.topic, *dict.fromkeys(test.spec.kind for test in question.tests)]
    passed = question.passed + question.dropped == len(question.tests)
    entry = {
        "number": spec.number,
        "name": name,
        "status": "passed" if passed else "failed",
        "output_format": "md",
        "output": output,
        "tags": tags,
    }
    if not spec.max_score:
        return entry
    # Extra credit has a maximum of 0: it adds to the score and to nothing else.
    most = 0.0 if spec.is_extra_credit else float(spec.max_score)
    return entry | {"score": float(test.score), "max_score": most}


def _sum_exactly(entries: list[dict[str, Any]], total: float) -> None:
    """Change the last score above 0 by some 1e-15, so that the sum of all floats is the total.

    Otherwise, full marks may add up to 52.99999999999999.
    """
    earned = [entry for entry in entries if entry.get("score")]
    before = 0.0
    for entry in earned[:-1]:
        before += entry["score"]  # not sum(), which compensates for such errors in new Pythons
    if earned:
        earned[-1]["score"] = total - before


def _by_question(report: Report, hidden_tests: str) -> list[str]:
    """Return a line per question with the points of its tests that are visible now.

    Questions without points share a line.
    """
    seen = report.select(lambda test: visibility(test.spec, hidden_tests) == "visible")
    rows = [
        f"{question.number:<4}{question.in_short:>14}  {question.title}"
        for question in seen.questions
        if not question.is_folded
    ]
    folded = seen.folded
    return [*rows, f"{'':<20}Without points: {folded.in_tests}"] if folded.tests else rows


def leaderboard(assignment: Assignment, results: Results, case: Cases) -> list[dict[str, Any]]:
    """Return accuracies on dev and numbers of parameters as rows in Gradescope's format.

    A variant is ranked if its question's tests of accuracy have passed, and the test that its
    parameters give the predicted answers: a file of predictions alone, or of one parameter, gets
    no row.

    Args:
        case: returns the case of a test; that of `matches_checkpoint` has a `standing`.
    """
    rows: list[dict[str, Any]] = []
    passed = {(t.spec.topic, t.spec.name) for t in results.tests if t.outcome is Outcome.PASSED}
    for name, variant in assignment.variants.items():
        if not passed.issuperset((variant.topic, test) for test in RANKED):
            continue
        with contextlib.suppress(TestEnd, GradingError):  # no time is left: the grades remain valid
            outputs: Any = case(variant.topic, "matches_checkpoint")
            share, parameters = outputs.standing(name)
            rows += [
                {"name": f"{name}: right on dev (%)", "value": round(100 * share, 2)},
                {"name": f"{name}: parameters", "value": parameters, "order": "asc"},
            ]
    return rows


def serialize(content: dict[str, Any]) -> str:
    """Return the text of results.json.

    GradingError: it violates the schema; the grader's mistakes must not become grades.
    """
    import jsonschema  # staff's package, which students don't need

    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for error in validator.iter_errors(content):
        place = "/".join(map(str, error.absolute_path)) or "the whole"
        raise GradingError(f"results.json, {place}: {error.message:.300}")
    try:
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:  # for NaN, which passes the schema's bounds
        raise GradingError(f"results.json: {error}") from None
