"""Without a data set, tests of code run, others say why not, and no authoritative run begins."""

from pathlib import Path

import pytest

from grading.errors import DataError, GradingError
from grading.verdicts import Outcome
from questions import provided
from questions.provided import CourseData
from tests import pinned
from tools import world

NEEDS_DATA = {
    "dev_predictions",
    "test_predictions",
    "remembers_training",
    "dev_accuracy",
    "test_accuracy",
    "matches_checkpoint",
}
FILES = ("wiki.txt", "dataset.json", provided.TRAIN, *provided.QUESTION_FILES.values())
DEV = "birth_dev.tsv"


@pytest.fixture
def installed(tmp_path) -> dict[str, Path]:
    """The folders of a smoke world: its data and answers."""
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tmp_path)]) == 0
    return {"data": tmp_path / "src/data", "answers": tmp_path / "solutions/data"}


def require(installed: dict[str, Path]) -> None:
    CourseData(pinned.load(), **installed).require()


def test_without_a_data_set_all_tests_that_need_none_run(submission, grade, tmp_path):
    edition = pinned.load().editions["current"]
    topics = ("pretraining", "rope", "training")  # with all trained files
    wanted = [t.test_id for t in edition.tests if t.topic in topics or t.name in NEEDS_DATA]
    none = tmp_path / "none"
    results = grade(submission, *wanted, edition="current", data=none, answers=none)
    for result in (results[test_id] for test_id in wanted):
        if result.spec.name in NEEDS_DATA:
            assert result.cause == "not-run.no-data" and "\n" not in result.message, result
        else:
            assert result.outcome is Outcome.PASSED, result


NO_TEXT = b"Where was \xff born?\tParis\n"


def test_each_file_that_is_missing_or_unreadable_is_named(installed):
    require(installed)
    for name in FILES:
        path = installed["data"] / name
        content = path.read_bytes()
        blank = {b"": "is blank"} if path.suffix == ".tsv" else {}
        for spoilt, words in {None: "is missing", NO_TEXT: "not UTF-8 text", **blank}.items():
            path.unlink() if spoilt is None else path.write_bytes(spoilt)
            with pytest.raises(DataError, match=words) as caught:
                require(installed)
            assert name in str(caught.value) and "\n" not in str(caught.value)
            path.write_bytes(content)
        path.unlink()
        path.mkdir()
        with pytest.raises(DataError, match="can't be read"):
            require(installed)
        path.rmdir()
        path.write_bytes(content)


def test_a_broken_description_is_said_in_a_line(installed, submission, grade):
    broken = ("", "[" * 100_000, "[1]", "{}", '{"name": ["world"]}', '{"name": "\\u001b[2J"}')
    for text in (*broken, '{"name": "other"}'):
        (installed["data"] / "dataset.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="names none of.*world, smoke, real") as caught:
            require(installed)
        assert repr(text)[1:-1][:40] in str(caught.value)
        assert str(caught.value).isprintable()
    result = grade(submission, "1f-0-basic", **installed)["1f-0-basic"]  # whose recipe is it?
    assert result.outcome is Outcome.NOT_RUN and result.score == 0


def test_a_run_that_counts_does_not_begin_without_the_answers(installed, submission, grade):
    answers = installed["answers"] / provided.TEST_ANSWERS
    for spoilt in (NO_TEXT, b"", None):
        answers.unlink() if spoilt is None else answers.write_bytes(spoilt)
        with pytest.raises(GradingError, match="data set") as caught:
            grade(submission, "1e-0-basic", **installed, counts=True)
        assert not isinstance(caught.value, DataError)  # exit code 3, and no results.json


def test_data_that_vanish_in_a_run_that_counts_are_our_fault(
    installed, submission, grade, monkeypatch
):
    dev = installed["data"] / DEV
    monkeypatch.setattr("grading.runner.require_data", lambda data: dev.unlink())
    (submission / "vanilla.nopretrain.dev.predictions").write_bytes(b"x\n")
    result = grade(submission, "1d-0-basic", counts=True, **installed)["1d-0-basic"]
    assert result.outcome is Outcome.GRADER_ERROR


def test_lines_without_parameters_earn_nothing(installed, tmp_path, grade):
    upload = tmp_path / "upload"
    (upload / "submission").mkdir(parents=True)
    (upload / "submission" / "dataset.py").touch()
    for name in ("nopretrain.dev", "nopretrain.test", "pretrain.dev", "pretrain.test"):
        (upload / f"vanilla.{name}.predictions").write_text("London\n" * 20, encoding="utf-8")
    results = grade(upload, "1d", "1f", **installed)
    assert results["1d-0-basic"].outcome is Outcome.PASSED
    assert not any(result.score for result in results.values())
