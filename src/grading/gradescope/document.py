"""results.json as Gradescope documents it, from a run's results.

An entry's `visibility` decides when students see it. An entry that they can't see yet also hides
their total, which is right if hidden tests' points are to wait (`after_published`); no entry ever
has the visibility `hidden`, with which its points would count without being visible anywhere.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..assignment import Edition, TestSpec
from ..console import passed_of, points
from ..errors import GradingError
from ..results import Results, TestResult
from ..verdicts import Outcome
from . import feedback

SCHEMA = Path(__file__).with_name("results.schema.json")
UNWRITTEN = ".NotImplementedError"  # ends the cause of a failure in a part that is not written yet
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
    """Return the whole of results.json.

    Args:
        hidden_tests: when hidden tests become visible: one of VISIBILITIES.
        notes: sentences for the student, shown above the points.
        extra: facts for staff: seed, layers, versions, hash of the release.
        execution_s: wall seconds that the run took.
    """
    entries, not_begun = _entries(results, hidden_tests)
    facts = {"edition": results.edition.name, "seed": str(results.seed), "not_begun": not_begun}
    content = {
        "visibility": "visible",
        "stdout_visibility": "hidden",  # it contains staff's details
        "execution_time": round(execution_s),
        "output_format": "md",
        "output": overview(
            [*notes, *_later(results, hidden_tests)], _by_question(results, hidden_tests)
        ),
        "extra_data": extra | facts,
        "tests": entries,
    }
    total = float(results.score)
    if all(entry["visibility"] == "visible" for entry in entries):
        return content | {"score": total}
    _sum_exactly(entries, total)  # a total here would show what is to wait
    return content


def _entries(
    results: Results, hidden_tests: str
) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Return an entry for each test, and one per question without points.

    Such a question has two if its hidden tests become visible later than the basic ones. If it was
    not begun, it has none, because it would be red. Its outcomes are returned by topic, for staff.
    """
    folded = results.folded
    groups: dict[tuple[str, ...], list[TestResult]] = {}
    for test in results.tests:
        alone = test.spec.number not in folded
        shared = test.spec.number, visibility(test.spec, hidden_tests)
        groups.setdefault((test.spec.test_id,) if alone else shared, []).append(test)
    shown: list[dict[str, Any]] = []
    not_begun: dict[str, dict[str, str]] = {}
    for tests in groups.values():
        spec = tests[0].spec
        outcomes = {test.spec.test_id: test.outcome.value for test in tests}
        if spec.number not in folded:
            entry = _entry(tests[0])
        elif any(map(_is_begun, tests)):
            entry = _folded(results.edition, tests)
        else:
            not_begun.setdefault(spec.topic, {}).update(outcomes)
            continue
        about = {"visibility": visibility(spec, hidden_tests), "extra_data": {"outcomes": outcomes}}
        shown.append(entry | about)
    return shown, not_begun


def _is_begun(test: TestResult) -> bool:
    """Return whether there is any code that the test could judge."""
    is_unwritten = test.cause.endswith(UNWRITTEN)
    return not (is_unwritten or test.outcome in (Outcome.MISSING_FILE, Outcome.NOT_RUN))


def _folded(edition: Edition, tests: list[TestResult]) -> dict[str, Any]:
    """Return the one entry of tests without points, of one question and visibility."""
    spec = tests[0].spec
    title = next(q.title for q in edition.questions if q.number == spec.number)
    passed = all(test.outcome is Outcome.PASSED for test in tests)
    return {
        "number": spec.number,
        "name": f"{spec.number}: {title}",
        "status": "passed" if passed else "failed",
        "output_format": "md",
        "output": feedback.of_practice(tests),
        "tags": [spec.topic, *dict.fromkeys(test.spec.kind for test in tests)],
    }


def _entry(test: TestResult) -> dict[str, Any]:
    """Return a test's entry; without points, Gradescope shows its status only."""
    spec = test.spec
    entry = {
        "number": spec.number,
        "name": f"{spec.test_id}: {test.description}",
        "status": "passed" if test.outcome is Outcome.PASSED else "failed",
        "output_format": "md",
        "output": feedback.of_test(test),
        "tags": [spec.topic, spec.kind] + (["extra credit"] if spec.is_extra_credit else []),
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


def overview(notes: list[str], lines: list[str]) -> str:
    """Return the text above all tests: sentences, then lines in columns."""
    words = [feedback.plain(feedback.shortened(note)) for note in notes if note]
    return "\n\n".join([*words, feedback.fenced("\n".join(lines), most=60)])


def _later(results: Results, hidden_tests: str) -> list[str]:
    return sorted({LATER[visibility(t.spec, hidden_tests)] for t in results.tests} - {""})


def _by_question(results: Results, hidden_tests: str) -> list[str]:
    """Return a line per question with the points of its tests that are visible now.

    Questions without points share a line.
    """
    edition = results.edition
    seen = [t for t in results.tests if visibility(t.spec, hidden_tests) == "visible"]
    rows = []
    for question in edition.questions:
        tests = [t for t in seen if t.spec.number == question.number]
        if tests and question.number not in results.folded:
            score = sum((t.score for t in tests), Decimal(0))
            worth = sum((t.spec.max_score for t in tests), Decimal(0))
            shown = f"{points(score)} of {points(worth)}" if worth else "no points"
            rows.append(f"{question.number:<4}{shown:>14}  {question.title}")
    unpaid = [t for t in seen if t.spec.number in results.folded]
    return [*rows, f"{'':<20}Without points: {passed_of(unpaid)}"] if unpaid else rows


def _schema() -> dict[str, Any]:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def serialize(content: dict[str, Any]) -> str:
    """Return the text of results.json.

    Raises:
        GradingError: it violates the schema: the grader's mistakes must not become grades.
    """
    import jsonschema  # staff's package, which students don't need

    validator = jsonschema.Draft202012Validator(_schema())
    for error in validator.iter_errors(content):
        place = "/".join(map(str, error.absolute_path)) or "the whole"
        raise GradingError(f"results.json, {place}: {error.message:.300}")
    try:
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:  # for NaN, which passes the schema's bounds
        raise GradingError(f"results.json: {error}") from None
