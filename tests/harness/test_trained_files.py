"""Prediction and parameter files: harmless differences cost nothing, others have one clear line."""

import numpy as np
import pytest

from grading.staging import Staged
from grading.verdicts import Outcome, TestEnd
from questions.shared import trained_files

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
]


@pytest.mark.parametrize(("data", "words"), FAULTS)
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


def test_scores_count_over_the_answers_lines():
    with pytest.raises(ValueError):
        trained_files.count_correct(["London"], ["London", "Paris"])


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


LARGE = [[[200_000, 200_000]], [[1_000_001]], [[1000, 500], [1000, 501]], [[1]] * 9_000]


def test_numbers_are_drawn_for_shapes_that_a_test_can_have():
    for shapes in ([], [[3, 4], [5]], [[1000, 1000]]):
        trained_files.refuse_large(shapes)
    for shapes in ([[-1]], [[0, 4]], [[]], [[1] * 100], *LARGE):
        with pytest.raises(TestEnd, match="not those of the given GPT"):
            trained_files.refuse_large(shapes)
