"""run.py, the grader and collect_submission.py accept the same files of parameters."""

import numpy as np
import pytest
import torch

import collect_submission
from grading.worker import Context
from questions.shared import probe

EVALUATE = "evaluate vanilla wiki.txt --eval_corpus_path birth_dev.tsv --outputs_path out"
FINETUNE = "finetune vanilla wiki.txt --writing_params_path w --finetune_corpus_path "
COMMANDS = {
    "evaluate": EVALUATE,
    "finetune": f"{FINETUNE}birth_places_train.tsv",
    "cloze": "cloze vanilla wiki.txt",
    "inspect": "inspect vanilla wiki.txt --outputs_path page.html",
}
READABLE = {
    "compiled": lambda state: {f"_orig_mod.{name}": w for name, w in state.items()},
    "data parallel": lambda state: {f"module.{name}": w for name, w in state.items()},
    "compiled, then parallel": lambda state: {
        f"module._orig_mod.{name}": w for name, w in state.items()
    },
    "nanoGPT's": lambda state: {"model": state, "optimizer": {"step": 1}, "iter_num": 1},
    "Lightning's": lambda state: {"state_dict": state, "epoch": 3},
    "with a number": lambda state: {**state, "step": 800},
    "with a tensor that is no weight": lambda state: {**state, "step": torch.tensor(800)},
    "without masks": lambda state: {n: w for n, w in state.items() if not n.endswith(".mask")},
    "parameters": lambda state: {
        n: torch.nn.Parameter(w, requires_grad=w.is_floating_point()) for n, w in state.items()
    },
}
UNREADABLE = {
    "a number of numpy's": lambda state: {"model": state, "loss": np.float64(0.5)},
    "no names": lambda state: list(state.values()),
    "no tensors": lambda state: {"step": 800},
    "wrapped too often": lambda state: {"model": {"model": {"model": {"model": {"model": {}}}}}},
    "sparse": lambda state: {name: w.to_sparse() for name, w in state.items()},
}


@pytest.fixture
def write(trained, tmp_path):
    """A function that writes a changed file of vanilla's parameters, x.params."""

    def write(change=lambda state: state, **options):
        state = torch.load(trained / "vanilla.finetune.params", weights_only=True)
        torch.save(change(state), tmp_path / "x.params", **options)
        return state

    return write


def graded(folder) -> dict:
    return probe.read_parameters(Context(scratch=folder, files=folder), "x.params")


def check_accepted(run, tmp_path, state, command):
    read = graded(tmp_path)
    learnt = {name: w.numpy() for name, w in state.items() if not name.endswith(".mask")}
    assert read["problem"] == "" and read["names"] == list(learnt)
    assert all(map(np.array_equal, read["arrays"], learnt.values()))
    assert collect_submission.check_parameters("x.params", tmp_path / "x.params") == []
    code, _, errors = run(f"{COMMANDS[command]} --reading_params_path x.params")
    assert code == 0, errors


@pytest.mark.parametrize("form", READABLE)
@pytest.mark.parametrize("command", ["evaluate", "finetune"])
def test_a_file_with_the_models_tensors_is_read_everywhere(run, tmp_path, write, form, command):
    check_accepted(run, tmp_path, write(READABLE[form]), command)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_in_the_format_before_torch_1_6_is_read_everywhere(run, tmp_path, write, command):
    state = write(_use_new_zipfile_serialization=False)
    check_accepted(run, tmp_path, state, command)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", UNREADABLE)
def test_a_file_without_named_tensors_gets_the_same_sentence_everywhere(
    run, tmp_path, write, form, command
):
    write(UNREADABLE[form])
    problem = graded(tmp_path)["problem"]
    assert problem.startswith("x.params can't be read as parameters: ")
    assert collect_submission.check_parameters("x.params", tmp_path / "x.params") == [problem]
    code, _, errors = run(f"{COMMANDS[command]} --reading_params_path x.params")
    assert (code, errors) == (2, f"error: {problem}\n")


def test_a_compiled_models_parameters_are_written_with_plain_names(
    run, modules, monkeypatch, tmp_path
):
    """A wrapper with torch.compile's names; compiling itself takes half a minute."""

    class Compiled(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self._orig_mod = model
            self.get_block_size, self.config = model.get_block_size, model.config
            self.variant = model.variant

        def forward(self, *ids):
            return self._orig_mod(*ids)

    helper = modules[1]
    initialize = helper.initialize_vanilla_model
    monkeypatch.setattr(helper, "initialize_vanilla_model", lambda c: Compiled(initialize(c)))
    assert run("pretrain vanilla wiki.txt --writing_params_path x.params")[0] == 0
    assert not [n for n in torch.load("x.params", weights_only=True) if n.startswith("_orig_mod")]
    command = f"{COMMANDS['finetune']} --reading_params_path x.params"
    code, _, errors = run(command)
    assert code == 0, errors
    assert run(f"{EVALUATE} --reading_params_path w")[0] == 0
