"""Each kind of failure has its own id, which contains nothing from a submission."""

import json
from fractions import Fraction

from autograder import replay
from grading.results import Results, TestResult
from grading.staging import Staged
from grading.verdicts import REPORT, Outcome, of_report
from tests import pinned

EDITION = pinned.load().edition(None)
STAFFS = {"detail", "cause", "where", "look_at", "credit", "measured", "cpu_s", "peak_bytes"}


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
