"""A run: exact partial credit, verdicts independent of the order and number of tests, no losses."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import pytest

from grading import paths
from grading.results import share_of
from grading.verdicts import ExitCode, Outcome, exit_code

WANTED = ("1e", "1g-1-basic", "1g-5-hidden", "1g-9-hidden", "3a", "3b")


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


@pytest.mark.parametrize("credit", [Fraction(-1, 10), Fraction(11, 10)])
def test_an_impossible_credit_is_the_judges_mistake(credit):
    with pytest.raises(ValueError):
        share_of(Decimal(1), credit)


def test_partial_credit_reaches_the_result_and_zero_stays_zero(submission, grade, monkeypatch):
    for credit, score in ((Fraction(1, 2), Decimal("0.5")), (Fraction(0), Decimal(0))):
        monkeypatch.setattr(
            "questions.span_corruption.tests.SpanCorruption.test_pairs",
            _marked(lambda case, credit=credit: case.fail("half of it", id="half", credit=credit)),
        )
        result = grade(submission, "1e-1-basic")["1e-1-basic"]
        assert (result.outcome, result.score) == (Outcome.FAILED, score)
        assert result.message == "half of it"


def _marked(method):
    method.claims = {}
    return method


def test_an_impossible_credit_is_a_grader_error(submission, grade, monkeypatch):
    monkeypatch.setattr(
        "questions.span_corruption.tests.SpanCorruption.test_pairs",
        _marked(lambda case: case.fail("too much", id="much", credit=Fraction(2))),
    )
    result = grade(submission, "1e-1-basic")["1e-1-basic"]
    assert (result.outcome, result.score) == (Outcome.GRADER_ERROR, 0)


def verdicts(results):
    return {
        test_id: (t.outcome, t.score, t.message, t.detail, t.output)
        for test_id, t in results.items()
        if t.is_selected
    }


@pytest.fixture
def half_right(submission):
    """A submission with mistakes, whose messages depend on the random inputs."""
    path = submission / "submission" / "dataset.py"
    text = path.read_text(encoding="utf-8")
    broken = text.replace("span = random.randint(0, len(truncated) // 2)", "span = 1")
    assert broken != text
    path.write_text(broken + "\nprint(hash('a'), set('abcdef'))\n", encoding="utf-8")
    return submission


def test_the_same_seed_gives_the_same_verdicts_in_any_order_and_number(half_right, grade):
    together = verdicts(grade(half_right, *WANTED, seed=5))
    assert Outcome.FAILED in {v[0] for v in together.values()}
    assert verdicts(grade(half_right, *WANTED, seed=5, jobs=3)) == together
    for test_id in ("1e-9-hidden", "1e-2-basic", "3a-1-hidden"):
        assert verdicts(grade(half_right, test_id, seed=5)) == {test_id: together[test_id]}


def test_code_with_a_generator_of_its_own_gets_the_same_outcomes(submission, grade):
    path = submission / "submission" / "dataset.py"
    text = path.read_text(encoding="utf-8")
    unseeded = text.replace("import random\n", "import random as _r\nrandom = _r.SystemRandom()\n")
    assert unseeded != text
    path.write_text(unseeded, encoding="utf-8")
    assert {v[0] for v in verdicts(grade(submission, "1e")).values()} == {Outcome.PASSED}


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([Outcome.PASSED], ExitCode.OK),
        ([Outcome.PASSED, Outcome.RAN_NOT_GRADED], ExitCode.OK),
        ([Outcome.PASSED, Outcome.FAILED], ExitCode.FAILED),
        ([Outcome.NOT_RUN], ExitCode.FAILED),
        ([Outcome.FAILED, Outcome.GRADER_ERROR], ExitCode.GRADER_ERROR),
    ],
)
def test_exit_codes(outcomes, code):
    assert exit_code(outcomes) is code


def test_a_reader_that_leaves_ends_the_run_without_a_traceback(tmp_path):
    """`python grader.py --list | head -1`."""
    command = [sys.executable, str(paths.SRC / "grader.py"), "--list"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 130)
