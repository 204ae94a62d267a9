"""Each kind of failure has its own id, which contains nothing from a submission."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from autograder import replay
from grading.pool import Ending, Finished
from grading.results import Results, TestResult
from grading.staging import Staged
from grading.verdicts import REPORT, Outcome, Verdict, of_ending, of_report
from grading.worker import Limits
from tests import pinned

EDITION = pinned.load().edition(None)
STAFFS = {"detail", "cause", "where", "look_at", "credit", "measured", "cpu_s", "peak_bytes"}


@pytest.mark.parametrize(
    "verdict, cause",
    [
        (Verdict(Outcome.PASSED, "", credit=Fraction(1)), ""),
        (Verdict(Outcome.RAN_NOT_GRADED, "later"), "ran-not-graded"),
        (Verdict(Outcome.ERROR, "KeyError: 3", id="KeyError"), "error.KeyError"),
        (Verdict(Outcome.FAILED, "worded anew", id="shape"), "failed.shape"),
    ],
)
def test_a_cause_is_the_outcome_and_the_id(verdict, cause):
    assert verdict.cause == cause


def finished(**changed) -> Finished:
    ending = {"code": 0, "signal": 0, "reason": "", "cpu_s": 1.0, "wall_s": 1.0, "memory_bytes": 1}
    return Finished(Ending(**ending | changed), True, None, "")


@pytest.mark.parametrize(
    "ended, cause",
    [
        ({"reason": "cpu"}, "timed-out.cpu"),
        ({"reason": "wall"}, "timed-out.wall"),
        ({"reason": "import"}, "timed-out.import"),
        ({"reason": "memory"}, "out-of-memory.memory"),
        ({"signal": 11}, "killed.signal-11"),
        ({"code": 3}, "exited"),
    ],
)
def test_ends_of_a_process_have_causes(ended, cause):
    verdict = of_ending(finished(**ended), Limits.for_test(2.0), EDITION.tests[0], Staged(Path()))
    assert verdict is not None and verdict.cause == cause


def test_a_crash_has_its_type_and_for_staff_its_line(tmp_path):
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "dataset.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    hidden = next(spec for spec in EDITION.tests if spec.is_hidden)
    report = dict.fromkeys(REPORT, "") | {"type": "KeyError", "message": "secret"}
    report |= {"where": "submission/dataset.py:2"}
    verdict = of_report(report, hidden, Staged(tmp_path), "xcs224n")
    assert (verdict.cause, verdict.where) == ("error.KeyError", "submission/dataset.py:2")
    assert ":2" not in verdict.message
    # A type or a place that the code made up is ignored.
    report |= {"type": "Carries42", "where": "submission/other.py:42"}
    verdict = of_report(report, hidden, Staged(tmp_path), "xcs224n")
    assert (verdict.cause, verdict.where) == ("error.Exception", "")


def test_what_is_for_staff_is_told_to_nobody_else():
    spec = next(spec for spec in EDITION.tests if not spec.is_hidden)
    result = TestResult(
        spec=spec,
        description="a test",
        outcome=Outcome.FAILED,
        id="x",
        where="submission/dataset.py:2",
        credit=Fraction(1, 3),
        measured={"accuracy": 0.25},
        cpu_s=1.23456,
        peak_bytes=7,
    )
    shown, staffs = result.as_dict(staff=False), result.as_dict(staff=True)
    assert staffs.keys() - shown.keys() == STAFFS
    assert staffs["credit"] == "1/3" and staffs["cpu_s"] == 1.235
    assert staffs["measured"] == {"accuracy": 0.25}
    results = Results(EDITION, 5, [result])
    (recorded,) = json.loads(replay.line(results).removeprefix(replay.RECORD))["tests"]
    assert recorded["cause"] == "failed.x" and recorded["credit"] == "1/3"
