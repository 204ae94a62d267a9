"""experiments.json: no result without a prediction, and nothing that was said is lost."""

import json

import pytest
import torch


def test_a_prediction_says_something(lab, source):
    check = lab.record.check_prediction
    assert check("  the surname\nmatters more than both ", "?") == (
        "the surname matters more than both"
    )
    for text in (None, "", "no idea", "a b c d"):
        with pytest.raises(source.errors.InputError, match="--predict .* What comes out"):
            check(text, "What comes out?")


def test_a_digest_is_that_of_the_parameters_in_float16(lab):
    parameters = {"b": torch.randn(3, 4), "a": torch.randn(2)}
    whole = lab.record.digest(parameters)
    assert whole == lab.record.digest(dict(reversed(parameters.items())))
    assert whole == lab.record.digest({k: v.half().float() for k, v in parameters.items()})
    assert whole != lab.record.digest(parameters | {"a": parameters["a"] + 1})


def test_an_experiment_replaces_its_earlier_results_and_lists_its_earlier_prediction(lab, tmp_path):
    path = tmp_path / "experiments.json"
    lab.record.keep("trace", "the MASK knows it early", None, 0, ["first"], path)
    lab.record.keep("reverse", "backward is at chance level", None, 0, ["other"], path)
    lab.record.keep("trace", "the MASK knows it late", None, 1, ["second"], path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert list(kept) == ["trace", "reverse"]
    assert kept["trace"] == {
        "prediction": "the MASK knows it late",
        "earlier_predictions": ["the MASK knows it early"],
        "parameters": None,
        "seed": 1,
        "results": ["second"],
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"trace": 1}', '{"trace": {"prediction": 1}}', ""])
def test_a_damaged_file_is_never_overwritten(lab, source, tmp_path, text):
    path = tmp_path / "experiments.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(source.errors.InputError, match="is damaged: move it away"):
        lab.record.keep("trace", "the MASK knows it early", None, 0, [], path)
    assert path.read_text(encoding="utf-8") == text
