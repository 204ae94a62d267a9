"""A run: exact partial credit, verdicts independent of the order and number of tests, no losses."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import pytest

import grading
from grading.verdicts import ExitCode, Outcome, exit_code, share_of

WANTED = ("1e-1-basic", "1e-2-basic", "1e-9-hidden", "1g-5-hidden", "3a")


@pytest.mark.parametrize(
    ("points", "credit", "score"),
    [
        ("1", Fraction(0), "0"),
        ("1", Fraction(1), "1"),
        ("1", Fraction(1, 3), "0.33"),
        ("0.44", Fraction(1, 2), "0.22"),
        ("0.01", Fraction(99, 100), "0"),
        ("11", Fraction(2, 3), "7.33"),
    ],
)
def test_partial_credit_is_exact_and_never_more_than_its_share(points, credit, score):
    assert share_of(Decimal(points), credit) == Decimal(score)


@pytest.mark.parametrize(
    ("credit", "outcome", "score"),
    [
        (Fraction(1, 2), Outcome.FAILED, "0.5"),
        (Fraction(0), Outcome.FAILED, "0"),
        (Fraction(2), Outcome.GRADER_ERROR, "0"),  # the judge's mistake
        (Fraction(-1, 10), Outcome.GRADER_ERROR, "0"),
    ],
)
def test_partial_credit_reaches_the_result(submission, grade, monkeypatch, credit, outcome, score):
    def method(case):
        case.fail("part of it", id="part", credit=credit)

    method.claims = {}
    monkeypatch.setattr("questions.span_corruption.tests.SpanCorruption.test_pairs", method)
    result = grade(submission, "1e-1-basic")["1e-1-basic"]
    assert (result.outcome, result.score) == (outcome, Decimal(score))


def verdicts(results):
    return {
        test_id: (t.outcome, t.score, t.message, t.detail, t.output)
        for test_id, t in results.items()
        if t.is_selected
    }


def test_the_same_seed_gives_the_same_verdicts_in_any_order_and_number(submission, grade):
    """The submission has mistakes, whose messages depend on the random inputs."""
    path = submission / "submission" / "dataset.py"
    text = path.read_text(encoding="utf-8")
    broken = text.replace("span = random.randint(0, len(truncated) // 2)", "span = 1")
    assert broken != text
    path.write_text(broken + "\nprint(hash('a'), set('abcdef'))\n", encoding="utf-8")
    together = verdicts(grade(submission, *WANTED, seed=5))
    assert Outcome.FAILED in {v[0] for v in together.values()}
    assert verdicts(grade(submission, *WANTED, seed=5, jobs=3)) == together
    for test_id in ("1e-9-hidden", "3a-1-hidden"):
        assert verdicts(grade(submission, test_id, seed=5)) == {test_id: together[test_id]}


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([Outcome.PASSED, Outcome.RAN_NOT_GRADED], ExitCode.OK),
        ([Outcome.PASSED, Outcome.FAILED], ExitCode.FAILED),
        ([Outcome.NOT_RUN], ExitCode.FAILED),
        ([Outcome.FAILED, Outcome.GRADER_ERROR], ExitCode.GRADER_ERROR),
    ],
)
def test_exit_codes(outcomes, code):
    assert exit_code(outcomes) is code


def test_a_reader_that_leaves_ends_the_run_without_a_traceback():
    """`python grader.py --list | head -1`."""
    command = [sys.executable, str(grading.SRC / "grader.py"), "--list"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 130)
