"""What students read if one of their functions returns something that can't be used."""

import re

import pytest

from tests.benches import Bench
from tests.variants import GOLDEN, Variant

VANILLA = "helper.py, initialize_vanilla_model, finetuning"
MODEL = r"initialize_vanilla_model \(submission/helper.py:\d+, \[finetuning\]\) returned "


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


def test_tables_that_are_not_cut_to_the_length_are_named(verdict):
    body = (GOLDEN / "synthesizer/wrong/w2_not_sliced.py").read_text(encoding="utf-8")
    region = "attention.py, forward, synthesizer"
    message = verdict("synthesizer", region, body, "synthesizer.causality").message
    assert re.match(r"submission/attention.py:\d+: RuntimeError: ", message)
    assert "with T = 10 it works, so cut w2, b2 and the mask to T = 8" in message
