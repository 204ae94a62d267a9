"""The commands: a prediction comes first, results are kept, bad input is one line and no file."""

import json
import math
import re

import pytest
import torch

from tests.project import write_files
from tests.snapshots import check

PREDICTION = "--predict 'I expect a difference between the two'"
# Each experiment on a model: its stage, and how its table begins.
EXPERIMENTS = {
    "trace": ("finetune", "pasted after"),
    "ablate": ("finetune", "without"),
    "reverse": ("pretrain", "people"),
    "overwrite": ("finetune", "set "),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_command_prints_draws_and_keeps(run, lab, trained, tmp_path, monkeypatch, name):
    monkeypatch.setattr(lab.overwrite, "EPOCHS", 2)
    stage, beginning = EXPERIMENTS[name]
    table = tmp_path / "people.tsv"  # dev alone has too few people for `trace`
    tables = (lab.inputs.DATA / f"birth_{kind}.tsv" for kind in ("places_train", "dev"))
    table.write_bytes(b"".join(path.read_bytes() for path in tables))
    command = f"{name} vanilla wiki.txt --reading_params_path {trained}/vanilla.{stage}.params"
    command += " --recipe smoke --device cpu --eval_corpus_path people.tsv"
    for given in ("", "--predict 'no idea'"):
        code, output, errors = run(f"{command} {given}")
        assert code == 2 and "--predict" in errors and [*tmp_path.iterdir()] == [table]
    code, output, errors = run(f"{command} {PREDICTION}")
    assert code == 0, errors
    assert any(line.startswith(beginning) for line in output.splitlines())
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    kept = json.loads((tmp_path / "experiments.json").read_text(encoding="utf-8"))[name]
    assert kept["prediction"] == "I expect a difference between the two"
    assert len(kept["parameters"]) == 64 and all(line in output for line in kept["results"])


@pytest.mark.long
def test_induction_wordings_and_compare_train_models_of_their_own(run, tmp_path):
    for name in (
        "induction vanilla",
        "induction vanilla --digits permutation",
        "wordings vanilla wiki.txt --recipe brief",
        "compare vanilla wiki.txt --recipe brief --second_variant synthesizer",
    ):
        code, _, errors = run(f"{name} --device cpu {PREDICTION}")
        assert code == 0, errors
    kept = json.loads((tmp_path / "experiments.json").read_text(encoding="utf-8"))
    assert {"induction", "induction permutation", "wordings", "compare"} == set(kept)
    digits, table, _ = kept["induction"]["results"]
    assert digits == "Digits: repeated, seed 0."
    grown = [line.split()[:2] for line in table.splitlines()[1:]]
    assert grown == [["1", "1"], ["1", "4"], ["2", "1"], ["2", "4"]]  # layers and heads


# -- experiments.json -----------------------------------------------------------------------------


def test_a_digest_is_that_of_the_parameters_in_float16(lab):
    parameters = {"b": torch.randn(3, 4), "a": torch.randn(2)}
    whole = lab.commands.digest(parameters)
    assert whole == lab.commands.digest(dict(reversed(parameters.items())))
    assert whole == lab.commands.digest({k: v.half().float() for k, v in parameters.items()})
    assert whole != lab.commands.digest(parameters | {"a": parameters["a"] + 1})


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "experiments.json"


def test_an_experiment_replaces_its_earlier_results_and_lists_its_earlier_prediction(lab, path):
    for name, prediction in (("trace", "early"), ("reverse", "chance"), ("trace", "early")):
        lab.commands.keep(name, prediction, None, 0, ["first"])
    lab.commands.keep("trace", "late", None, 1, ["second"])
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert list(kept) == ["trace", "reverse"]
    expected = {"prediction": "late", "earlier_predictions": ["early"], "parameters": None}
    assert kept["trace"] == expected | {"seed": 1, "results": ["second"]}


def test_a_damaged_file_is_never_overwritten(lab, path):
    no_list = '{"trace": {"prediction": "", "earlier_predictions": null}}'
    for text in ("{", "[]", '{"trace": {"prediction": 1}}', no_list):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(lab.pretraining.InputError, match="is damaged: move it away"):
            lab.commands.keep("trace", "the MASK knows it early", None, 0, [])
        assert path.read_text(encoding="utf-8") == text


# -- refused --------------------------------------------------------------------------------------

OPTIONS = "wiki.txt --recipe smoke --device cpu --reading_params_path"
INSPECT = f"inspect vanilla {OPTIONS} vanilla.params --outputs_path page.html"
CLOZE = f"cloze vanilla {OPTIONS} vanilla.params"
CALIBRATION = f"calibration vanilla {OPTIONS} vanilla.params"
REFUSED = (
    f"{INSPECT} --question 'Where was Ωlga born?'",
    f"{INSPECT} --question {'a' * 64}",
    f"{INSPECT} --second_variant rope",
    f"{INSPECT} --eval_corpus_path birth_test_inputs.tsv",
    INSPECT.replace("vanilla.params", "nan.params"),
    f"{CLOZE} --eval_corpus_path other.tsv",
    f"{CLOZE} --eval_corpus_path strange.tsv",
    f"{CLOZE} --eval_corpus_path long.tsv",
    f"{CLOZE} --finetune_corpus_path birth_test_inputs.tsv",
    f"overwrite vanilla {OPTIONS} vanilla.params {PREDICTION} --eval_corpus_path strange.tsv",
    f"reverse vanilla {OPTIONS} vanilla.params {PREDICTION} --finetune_corpus_path alike.tsv "
    "--eval_corpus_path alike.tsv",
    CALIBRATION,
    f"{CALIBRATION} --outputs_path c.svg --eval_corpus_path birth_test_inputs.tsv",
    "compare vanilla wiki.txt",
    "compare vanilla wiki.txt --second_variant vanilla",
)
TABLES = {
    "other.tsv": "Who was Ada?\tLima\n",
    "strange.tsv": "Where was Ωlga born?\tLima\n",
    "long.tsv": f"Where was {'Ana ' * 22}born?\tLima\n",
    # Places of which each begins those that follow.
    "alike.tsv": "".join(f"Where was Ana {n * 'A'} born?\tBo{n * 'n'}\n" for n in range(20)),
}


def test_bad_input_is_one_line_and_leaves_no_file(
    run, lab, trained, assignment, tmp_path, monkeypatch
):
    monkeypatch.setattr("sys.argv", ["run.py"])
    write_files(tmp_path, TABLES)
    state = torch.load(trained / "vanilla.finetune.params", weights_only=True)
    torch.save(state, tmp_path / "vanilla.params")
    state["head.weight"][:] = math.nan
    torch.save(state, tmp_path / "nan.params")
    before, found = set(tmp_path.iterdir()), {}

    def refused(command: str) -> None:
        code, _, errors = run(command)
        assert code == 2, command
        assert set(tmp_path.iterdir()) == before, command
        last = re.sub(r"\.py:\d+", ".py:LINE", errors.splitlines()[-1])
        found[command.replace(OPTIONS, "...")] = last

    for command in REFUSED:
        refused(command)

    def unwritten(*arguments):
        raise NotImplementedError("[synthesizer] forward is yours to write")

    attention = lab.attention.SynthesizerAttention
    forward = attention.forward
    monkeypatch.setattr(attention, "forward", lambda *given: forward(*given) * math.nan)
    refused("recall synthesizer --device cpu")  # the loss is nan
    monkeypatch.setattr(attention, "forward", unwritten)
    refused("recall synthesizer")
    check("experiments_refused", found, {str(assignment): "A5", str(tmp_path): "HERE"})
