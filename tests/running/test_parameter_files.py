"""run.py, the grader and collect_submission.py accept the same files of parameters."""

import numpy as np
import pytest
import torch

import collect_submission
from grading.worker import Context
from questions.shared import probe

EVALUATE = "evaluate vanilla wiki.txt --eval_corpus_path birth_dev.tsv --outputs_path out"
FINETUNE = (
    "finetune vanilla wiki.txt --finetune_corpus_path birth_places_train.tsv "
    "--writing_params_path w"
)
READING = "--reading_params_path x.params"
READABLE = {
    "compiled, then parallel": lambda state: {
        f"module._orig_mod.{name}": w for name, w in state.items()
    },
    "nanoGPT's": lambda state: {"model": state, "optimizer": {"step": 1}, "iter_num": 1},
    "Lightning's": lambda state: {"state_dict": state, "epoch": 3},
    "in the format before torch 1.6": lambda state: state,
    "with numbers": lambda state: {**state, "step": 800, "epoch": torch.tensor(8)},
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
def state(trained) -> dict:
    return torch.load(trained / "vanilla.finetune.params", weights_only=True)


def graded(folder) -> dict:
    return probe.read_parameters(Context(scratch=folder, files=folder), "x.params")


@pytest.mark.parametrize("form", READABLE)
def test_a_file_with_the_models_tensors_is_read_everywhere(run, tmp_path, state, form):
    path = tmp_path / "x.params"
    torch.save(READABLE[form](state), path, _use_new_zipfile_serialization="before" not in form)
    read = graded(tmp_path)
    learnt = {name: w.numpy() for name, w in state.items() if not name.endswith(".mask")}
    assert read["problem"] == "" and read["names"] == list(learnt)
    assert all(map(np.array_equal, read["arrays"], learnt.values()))
    assert collect_submission.check_parameters("x.params", path) == []
    for command in (EVALUATE, FINETUNE):
        code, _, errors = run(f"{command} {READING}")
        assert code == 0, errors


@pytest.mark.parametrize("form", UNREADABLE)
def test_a_file_without_named_tensors_gets_the_same_sentence_everywhere(run, tmp_path, state, form):
    torch.save(UNREADABLE[form](state), tmp_path / "x.params")
    problem = graded(tmp_path)["problem"]
    assert problem.startswith("x.params can't be read as parameters: ")
    assert collect_submission.check_parameters("x.params", tmp_path / "x.params") == [problem]
    for command in (EVALUATE, FINETUNE):
        code, _, errors = run(f"{command} {READING}")
        assert (code, errors) == (2, f"error: {problem}\n")
