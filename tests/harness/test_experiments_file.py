"""experiments.json is an optional file: it is recorded for staff, and never changes points."""

import json

import pytest

from autograder import pages
from grading import report
from grading.staging import Staged, stage
from questions.course import Course

TRACE = {
    "prediction": "the MASK\nknows it <b>late</b>",
    "earlier_predictions": ["the MASK knows it early"],
    "parameters": "0" * 64,
    "seed": 3,
    "results": ["a table\nof two lines", "a sentence \ud800"],
}


@pytest.fixture
def staged(submission, tmp_path):
    """Stage the reference with an experiments.json of this content, at this place."""

    def make(content: bytes, place: str = "experiments.json") -> Staged:
        (submission / place).write_bytes(content)
        return stage(submission, tmp_path / "staged", Course().provided)

    return make


@pytest.mark.parametrize("place", ["experiments.json", "submission/experiments.json"])
def test_what_a_student_noted_is_taken(staged, place):
    taken = staged(json.dumps({"trace": TRACE, "induction": TRACE}).encode(), place)
    noted = taken.experiments["trace"]
    assert noted["prediction"] == TRACE["prediction"] and noted["seed"] == 3
    assert noted["results"] == "a table\nof two lines\na sentence \\ud800"
    assert "experiments.json" in taken.taken and not taken.omissions


def test_it_is_recorded_and_shown_to_staff_alone(submission, run, tmp_path):
    for content in (json.dumps({"trace": TRACE}), "[]"):
        (submission / "experiments.json").write_text(content, encoding="utf-8")
        results = run(submission, "3a")
        assert {test.outcome.value for test in results.selected_tests} == {"passed"}
        results.write(tmp_path / "results.json", staff=True)
        is_noted = content != "[]"
        assert ("experiments" in results.facts) is is_noted
        page = pages.page(results)
        for text in ("knows it &lt;b&gt;late&lt;/b&gt;", "knows it early", "a table\nof two lines"):
            assert (text in page) is is_noted
        students = report.page(results, report.Report.of(results, staff=False))
        assert "knows it" not in students


BROKEN = [b"\xff\xfe\xff", b"[" * 90_000, b"[]", b'{"trace": "late"}']
BROKEN += [
    json.dumps({"trace": TRACE | {key: value}}).encode()
    for key, value in (
        ("prediction", "a " * 60_000),
        ("prediction", 5),
        ("earlier_predictions", "late"),
        ("parameters", "0" * 63),
        ("seed", float("nan")),
        ("seed", True),
        ("seed", 10**40),
        ("results", [[1]]),
    )
]


@pytest.mark.parametrize("content", BROKEN, ids=lambda content: content[:60])
def test_a_broken_file_counts_as_none_with_one_line(staged, content):
    taken = staged(content)
    assert not taken.experiments and "experiments.json" not in taken.taken
    (line,) = map(str, taken.omissions)
    assert line.startswith("experiments.json (not as run.py writes it: ") and len(line) < 300
