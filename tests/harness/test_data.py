"""Without a data set, tests of code run, others say why not, and no authoritative run begins."""

import shutil
from pathlib import Path

import pytest

from grading.errors import DataError, GradingError
from grading.runner import NO_DATA
from grading.verdicts import Outcome
from questions import provided
from questions.provided import CourseData
from tests import pinned
from tests.interpreter import python
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
DEV = Path("src/data/birth_dev.tsv")


@pytest.fixture
def installed(tmp_path) -> Path:
    """A root with a smoke world: src/data and solutions/data."""
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tmp_path)]) == 0
    return tmp_path


def course_data(root: Path) -> CourseData:
    assignment = pinned.load()
    return CourseData(assignment, root / "src/data", root / "solutions/data")


@pytest.mark.parametrize("question", ["1c", "1d", "1e", "1f", "1g", "1h"])
def test_without_a_data_set_all_tests_that_need_none_run(question, submission, grade, tmp_path):
    edition = "current" if question == "1h" else "xcs224n"
    none = tmp_path / "none"
    results = grade(submission, question, edition=edition, data=none, answers=none)
    for result in (r for r in results.values() if r.is_selected):
        if result.spec.name in NEEDS_DATA:
            assert result.outcome is Outcome.NOT_RUN, result
            assert result.cause == "not-run.no-data" and "\n" not in result.message
        else:
            assert result.outcome is Outcome.PASSED, result


def test_the_command_ends_with_1_and_no_usage_error(tree, tmp_path):
    copy = tmp_path / "a5"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(".venv", "build", "data"))
    ran = python(copy, "src/grader.py", "--submission", "solutions", "1d")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert ran.stdout.count(NO_DATA) == 4
    assert ran.stderr == ""
    refused = python(copy, "src/grader.py", "--submission", "solutions", "1d", "--authoritative")
    assert refused.returncode == 3 and "data set" in refused.stderr
    assert "1d-" not in refused.stdout


def test_a_whole_data_set_satisfies_a_run_that_counts(installed):
    course_data(installed).require()


def _remove(path: Path) -> None:
    path.unlink()


def _replace_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _no_text(path: Path) -> None:
    path.write_bytes(b"Where was \xff born?\tParis\n")


def _blank(path: Path) -> None:
    path.write_bytes(b"")


MISSING = [(name, _remove, "is missing") for name in FILES]
UNREADABLE = [(name, _no_text, "not UTF-8 text") for name in FILES]
FOLDERS = [(name, _replace_by_a_folder, "can't be read") for name in FILES]
TABLES = [(name, _blank, "is blank") for name in FILES if name.endswith(".tsv")]


@pytest.mark.parametrize(("name", "spoil", "words"), MISSING + UNREADABLE + FOLDERS + TABLES)
@pytest.mark.sampled(6)
def test_each_file_that_is_missing_or_unreadable_is_named(installed, name, spoil, words):
    spoil(installed / "src/data" / name)
    with pytest.raises(DataError, match=words) as caught:
        course_data(installed).require()
    assert name in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[1]", "names no data set"),
        ("{}", "names no data set"),
        ('{"name": ["world"]}', "names no data set"),
        ('{"name": "other"}', "'other', but assignment.toml has only world, smoke, real"),
        ('{"name": "\\u001b[2J"}', r"x1b"),
    ],
)
@pytest.mark.sampled(4)
def test_a_broken_description_is_said_in_a_line(installed, submission, grade, text, words):
    (installed / "src/data/dataset.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words) as caught:
        course_data(installed).require()
    assert str(caught.value).isprintable()
    places = {"data": installed / "src/data", "answers": installed / "solutions/data"}
    result = grade(submission, "1f-0-basic", **places)["1f-0-basic"]  # whose recipe is it?
    assert result.outcome is Outcome.NOT_RUN and result.score == 0


@pytest.mark.parametrize("spoil", [_remove, _no_text, _blank])
def test_a_run_that_counts_does_not_begin_without_the_answers(installed, submission, grade, spoil):
    spoil(installed / "solutions/data" / provided.TEST_ANSWERS)
    places = {"data": installed / "src/data", "answers": installed / "solutions/data"}
    with pytest.raises(GradingError, match="data set") as caught:
        grade(submission, "1e-0-basic", **places, counts=True)
    assert not isinstance(caught.value, DataError)  # exit code 3, and no results.json


def test_data_that_vanish_in_a_run_that_counts_are_our_fault(
    installed, submission, grade, monkeypatch
):
    monkeypatch.setattr("grading.runner.require_data", lambda data: _remove(installed / DEV))
    (submission / "vanilla.nopretrain.dev.predictions").write_bytes(b"x\n")
    places = {"data": installed / "src/data", "answers": installed / "solutions/data"}
    result = grade(submission, "1d-0-basic", counts=True, **places)["1d-0-basic"]
    assert result.outcome is Outcome.GRADER_ERROR


def test_lines_without_parameters_earn_nothing(installed, tmp_path, grade):
    places = {"data": installed / "src/data", "answers": installed / "solutions/data"}
    upload = tmp_path / "upload"
    (upload / "submission").mkdir(parents=True)
    (upload / "submission" / "dataset.py").touch()
    for name in ("nopretrain.dev", "nopretrain.test", "pretrain.dev", "pretrain.test"):
        (upload / f"vanilla.{name}.predictions").write_text("London\n" * 20, encoding="utf-8")
    results = grade(upload, "1d", "1f", **places)
    assert results["1d-0-basic"].outcome is Outcome.PASSED
    assert not any(result.score for result in results.values())
