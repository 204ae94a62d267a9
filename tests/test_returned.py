"""What students read if one of their functions returns something that can't be used."""

import re

import pytest

from tests.benches import Bench
from tests.variants import GOLDEN, Variant

VANILLA = "helper.py, initialize_vanilla_model, finetuning"
MODEL = r"initialize_vanilla_model \(submission/helper.py:\d+, \[finetuning\]\) returned "
ANGLES = "attention.py, precompute_rotary_emb, rope"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture
def verdict(bench, tmp_path):
    """Return a function that runs one test on a region's code and returns the result."""

    def run(topic: str, region: str, body: str, test: str):
        path = tmp_path / topic / "wrong" / "some.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Some.\n# region: {region}\n{body}\n", encoding="utf-8")
        variant = Variant(path)
        chosen = [t for t in bench.tests if f"{t.spec.topic}.{t.spec.name}" == test]
        (result,) = bench.verdicts(variant, chosen, 3).values()
        assert result.outcome.value in ("failed", "error")
        return result

    return run


MODELS = {
    "model = GPT(mconf)": r"None \(is its `return` missing\?\), expected a GPT",
    "attention_model = GPT": "the class GPT itself, expected a GPT",
    "attention_model = GPT(mconf), mconf": "a tuple of 2: a value of type GPT, .*expected a GPT",
    "attention_model = torch.nn.DataParallel(GPT(mconf))": "a value of type DataParallel",
}


@pytest.mark.parametrize("body", MODELS)
def test_what_a_helper_returns_is_named_with_its_place(body, verdict):
    message = verdict("helper", VANILLA, body, "finetuning.vanilla_model").message
    assert re.match(MODEL + MODELS[body], message) and "\n" not in message


@pytest.mark.parametrize("test", ["pretrain_configuration", "finetune_configuration"])
def test_pretrain_is_not_blamed_for_a_missing_model(test, verdict):
    message = verdict("helper", VANILLA, "pass", f"pretraining.{test}").message
    assert re.match(f"{MODEL}None", message) and "helper.py:1" not in message


def test_hidden_tests_name_the_function_in_a_fixed_sentence(verdict):
    result = verdict("helper", VANILLA, "pass", "finetuning.model_output")
    assert result.message.startswith("initialize_vanilla_model in submission/helper.py, or a")
    assert "returned None" in result.detail and "None" not in result.message


def test_a_function_that_the_model_calls_is_named(verdict):
    message = verdict("rope", ANGLES, "return None", "rope.uses_rope").message
    assert re.match(r"precompute_rotary_emb \(submission/attention.py:\d+, \[rope\]\)", message)


def test_an_item_that_is_no_pair_is_described(verdict):
    region = "dataset.py, __getitem__, span corruption"
    for test in ("pairs", "arrangement", "truncation", "randomness"):
        message = verdict("span_corruption", region, "pass", f"span_corruption.{test}").message
        assert "got: None (is a `return` missing?)" in message


def test_an_array_is_not_described_like_a_tensor(verdict):
    region = "attention.py, forward, synthesizer"
    message = verdict("synthesizer", region, "return x.numpy()", "synthesizer.causality").message
    assert "got: a NumPy array, float64[1, 8, 12]" in message


def test_tables_that_are_not_cut_to_the_length_are_named(verdict):
    body = (GOLDEN / "synthesizer/wrong/w2_not_sliced.py").read_text(encoding="utf-8")
    region = "attention.py, forward, synthesizer"
    message = verdict("synthesizer", region, body, "synthesizer.causality").message
    assert re.match(r"submission/attention.py:\d+: RuntimeError: ", message)
    assert "with T = 10 it works, so cut w2, b2 and the mask to T = 8" in message


def test_the_order_of_two_numbers_is_named(verdict):
    region = "london_baseline.py, london_baseline, no pretraining"
    test = "no_pretraining.london_baseline"
    assert "right answers comes first" in verdict("london", region, "return 5, 2", test).message
    assert "got: None (is its" in verdict("london", region, "pass", test).message
