"""Files of predictions and parameters, and the data set that they are about."""

from pathlib import Path

import numpy as np
import pytest
import torch

from grading.errors import DataError, GradingError
from grading.pool import InProcessPool
from grading.runner import Observer, Options
from grading.staging import Staged
from grading.verdicts import Outcome, TestEnd
from questions import provided
from questions.provided import CourseData
from questions.shared import trained_files
from tests import pinned
from tools import world

NAME = "vanilla.pretrain.dev.predictions"


def read(tmp_path, data: bytes | None, lines: int = 2) -> list[str]:
    staged = Staged(tmp_path)
    if data is not None:
        (tmp_path / NAME).write_bytes(data)
        staged.taken[NAME] = "here"
    return trained_files.read_predictions(staged, NAME, lines)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"London\nParis\n", ["London", "Paris"]),
        (b"London\nParis", ["London", "Paris"]),
        (b"\xef\xbb\xbfLondon\r\nParis\r\n", ["London", "Paris"]),
        (b"London\r\nParis\r\n\r\n \t\r\n", ["London", "Paris"]),
        (b"\nParis\n", ["", "Paris"]),  # a blank line is an answer that is wrong
        (b"London\n\n\n", ["London", ""]),
    ],
)
def test_harmless_differences_cost_nothing(tmp_path, data, lines):
    assert read(tmp_path, data) == lines
    assert trained_files.count_correct(lines, ["London", "Paris"]) == 2 - lines.count("")


FAULTS = [
    # (a file that should have three lines, and what is said of it)
    (None, "missing.*--outputs_path"),
    (b"", "blank, expected 3"),
    (b"London\n", "1 line, expected 3.*on a single line"),
    (b"London\nParis\n", "2 lines, expected 3.*cut off"),
    (b"London\nParis\nRome\nOslo\n", "4 lines, expected 3.*a different file"),
    (b"London\n\nParis\nRome\n", "4 lines.*line 2 is blank: delete it"),
    (b"London\nMalm\xf6\n", "line 2.*UTF-8"),
    (b"\n" * (5 << 20), "far too long for 3 places"),
]


@pytest.mark.parametrize(("data", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_each_fault_has_its_message(tmp_path, data, words):
    with pytest.raises(TestEnd, match=f"{NAME}.*{words}") as caught:
        read(tmp_path, data, 3)
    lacks = data is None
    assert caught.value.verdict.outcome is (Outcome.MISSING_FILE if lacks else Outcome.FAILED)
    assert caught.value.verdict.missing_file == (NAME if lacks else "")


def test_a_shuffled_file_is_told_from_a_bad_one():
    places = [f"place {i % 30}" for i in range(100)]
    assert trained_files.in_another_order(places[7:] + places[:7], places)
    assert trained_files.in_another_order(sorted(places), places)
    assert not trained_files.in_another_order(places, places)
    assert not trained_files.in_another_order(["place 3"] * 100, places)


SHAPES = {"w2": [4, 8], "blocks.0.attn.b2": [8], "head": [3, 4]}


def test_the_first_parameter_that_differs_is_named():
    right = {name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}
    lacking, wide = {n: w for n, w in right.items() if n != "head"}, np.zeros((3, 5), np.float32)
    for weights, said in (
        (right, ""),
        (lacking, "head is missing"),
        (right | {"head": wide}, "head has the shape [3, 5], but in the model it is [3, 4]"),
        (right | {"more": wide}, "more is not in the model"),
    ):
        assert trained_files.misfit(weights, SHAPES) == said


def test_earlier_years_columns_are_widened_and_parameters_without_any_stay():
    narrow = {"blocks.0.attn.b2": np.ones(7, np.float32), "x.w2": np.zeros(0, np.float32)}
    wide = trained_files.widen_columns(narrow, SHAPES)
    assert wide["blocks.0.attn.b2"].tolist() == [1.0] * 7 + [0.0]
    assert wide.keys() == narrow.keys()
    scalar = {"blocks.0.attn.b2": np.float32(1.0)[...]}
    assert trained_files.widen_columns(scalar, SHAPES) == scalar


@pytest.mark.parametrize(
    ("problem", "value", "words"),
    [("", np.nan, "not finite"), ("torch.load says no", 0.0, "torch.load says no")],
)
def test_parameters_that_cannot_be_used_are_refused(problem, value, words):
    arrays = [np.array([value], np.float32)]
    with pytest.raises(TestEnd, match=words):
        trained_files.parameters({"problem": problem, "names": ["w"], "arrays": arrays}, "x.params")


def test_numbers_are_drawn_for_shapes_that_a_test_can_have():
    for shapes in ([], [[3, 4], [5]], [[1000, 1000]]):
        trained_files.refuse_large(shapes)
    for shapes in ([[-1]], [[0, 4]], [[]], [[200_000, 200_000]], [[1_000_001]], [[1]] * 9_000):
        with pytest.raises(TestEnd, match="not those of the given GPT"):
            trained_files.refuse_large(shapes)


# -- the data set ---------------------------------------------------------------------------------

NEEDS_DATA = {"dev_predictions", "test_predictions", "dev_accuracy", "test_accuracy"}
NEEDS_DATA |= {"remembers_training", "matches_checkpoint"}
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


def test_lines_without_right_parameters_earn_nothing_and_no_code_of_students_runs(
    installed, tmp_path, runner, grade
):
    """tests/gradescope/test_autograder.py has right parameters beside code that can't run."""
    upload = tmp_path / "upload"
    (upload / "submission").mkdir(parents=True)
    (upload / "submission" / "dataset.py").write_text("raise KeyError('ran')\n", encoding="utf-8")
    torch.save({"w": torch.zeros(1)}, upload / "vanilla.model.params")
    for name in ("nopretrain.dev", "nopretrain.test", "pretrain.dev", "pretrain.test"):
        (upload / f"vanilla.{name}.predictions").write_text("London\n" * 20, encoding="utf-8")
    results = grade(upload, "1d", "1f", **installed)
    assert results["1d-0-basic"].outcome is Outcome.PASSED
    assert not any(result.score for result in results.values())
    of_files = [t.spec.test_id for t in runner.tests(runner.assignment.edition(None)) if t.of_files]
    assert not any("KeyError" in results[test_id].message for test_id in of_files)


# Which tests come first -------------------------------------------------------------------------


def test_tests_of_files_run_first_and_results_come_in_the_editions_order(
    runner, submission, monkeypatch
):
    ended, shown = [], []
    monkeypatch.setattr("grading.runner.judge", lambda run, test, result: result)

    class Recorder(Observer):
        def ended(self, result):
            ended.append(result.spec.test_id)

        def present(self, result):
            shown.append(result.spec.test_id)
            assert shown[-1] in ended  # the results file is written before a result is reported

    options = Options(submission=submission, in_process=True)
    runner.run(options, 7, Recorder(), InProcessPool())
    bound = runner.tests(runner.assignment.edition(None))
    assert shown == [test.spec.test_id for test in bound]
    files = [test.spec.test_id for test in bound if test.of_files]
    assert len(files) == 10
    assert ended == files + [test_id for test_id in shown if test_id not in files]
