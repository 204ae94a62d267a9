"""Each command checks what students' functions return: one line names function and question."""

import itertools
import re
from operator import attrgetter

import pytest
import torch

from tests.snapshots import check

PRE = "pretrain vanilla wiki.txt --writing_params_path w"
SYNTHESIZER, ROPE = (PRE.replace("vanilla", variant) for variant in ("synthesizer", "rope"))
FINE = (
    "finetune vanilla wiki.txt --writing_params_path w "
    "--finetune_corpus_path birth_places_train.tsv"
)
READING = "synthesizer wiki.txt --reading_params_path params"  # which are never read
EVALUATE = f"evaluate {READING} --eval_corpus_path birth_dev.tsv --outputs_path out"
LENGTHS = itertools.cycle((64, 64, 63))


def spoilt(name: str, value):
    """Return a function that changes an attribute of a Trainer."""

    def change(made):
        setattr(made[1], name, value)
        return made

    return change


def shortened(item):
    length = next(LENGTHS)
    return tuple(part[:length] for part in item)


HELPER, DATASET, ATTENTION = "helper.", "dataset.CharCorruptionDataset.", "attention."
# A function, a command that calls it, and what it returns in place of what it usually does.
CASES = [
    (f"{HELPER}initialize_vanilla_model", PRE, "the class", type),
    (f"{HELPER}initialize_vanilla_model", PRE, "a layer", lambda made: torch.nn.Linear(2, 2)),
    (f"{HELPER}pretrain", PRE, "nothing", lambda made: None),
    (f"{HELPER}finetune", FINE, "nothing", lambda made: None),
    (f"{HELPER}pretrain", PRE, "classes", lambda made: (int, int)),
    (f"{HELPER}pretrain", PRE, "no config", spoilt("config", None)),
    (f"{HELPER}pretrain", PRE, "no model", spoilt("model", None)),
    (f"{HELPER}pretrain", PRE, "a text to train on", spoilt("train_dataset", "a text")),
    (f"{HELPER}pretrain", PRE, "texts to train on", spoilt("train_dataset", ["a", "b"])),
    (f"{DATASET}__getitem__", PRE, "nothing", lambda item: None),
    (f"{DATASET}__getitem__", PRE, "lists", lambda item: ([1], [2])),
    (f"{DATASET}__getitem__", PRE, "floats", lambda item: (torch.zeros(64),) * 2),
    (f"{DATASET}__getitem__", PRE, "other lengths", lambda item: (item[0], item[1][1:])),
    (f"{DATASET}__getitem__", PRE, "PADs alone as y", lambda item: (item[0], 0 * item[1])),
    (f"{DATASET}__getitem__", PRE, "another length at times", shortened),
    (f"{ATTENTION}SynthesizerAttention.forward", EVALUATE, "nothing", lambda y: None),
    (f"{ATTENTION}SynthesizerAttention.forward", "recall synthesizer", "nothing", lambda y: None),
    (f"{ATTENTION}SynthesizerAttention.forward", SYNTHESIZER, "a pair", lambda y: (y, None)),
    (f"{ATTENTION}SynthesizerAttention.forward", SYNTHESIZER, "a part", lambda y: y[:, :, :1]),
    (f"{ATTENTION}apply_rotary_emb", ROPE, "nothing", lambda x: None),
    (f"{ATTENTION}apply_rotary_emb", ROPE, "a part", lambda x: x[:, :, :1]),
    (f"{ATTENTION}precompute_rotary_emb", ROPE, "nothing", lambda cache: None),
    ("model.GPT.forward", PRE, "nothing", lambda made: None),
    ("model.GPT.forward", PRE, "logits alone", lambda made: made[0]),
    ("model.GPT.forward", PRE, "no loss", lambda made: (made[0], None)),
    ("model.GPT.forward", PRE, "other logits", lambda made: (made[0][:, :, 1:], made[1])),
    ("model.GPT.forward", PRE, "a loss a position", lambda made: (made[0], made[0])),
]


def replace(patch: pytest.MonkeyPatch, owner, name: str, value) -> None:
    """Let one of a student's functions return something else, at its own place."""
    usual = getattr(owner, name)

    def wrong(*arguments, **keywords):
        return value(usual(*arguments, **keywords))

    # inspect looks for its lines there.
    wrong.__wrapped__ = getattr(usual, "__wrapped__", usual)
    patch.setattr(owner, name, wrong)


def test_what_students_functions_return_is_checked(run, lab, tmp_path):
    (tmp_path / "params").touch()
    found = {}
    for function, command, title, value in CASES:
        owner, _, name = function.rpartition(".")
        with pytest.MonkeyPatch.context() as patch:
            replace(patch, attrgetter(owner)(lab), name, value)
            code, _, errors = run(command)
        assert code == 2 and errors.count("\n") == 1, errors
        title = f"{name} returns {title}: {command.partition(' ')[0]}"
        found[title] = re.sub(r"(\.py):\d+", r"\1:LINE", errors)
    check("returned", found)


def test_checking_draws_no_random_number(run, lab, monkeypatch, tmp_path):
    """Parameters stay what they were before items and models were checked."""
    assert run(f"{PRE}1")[0] == 0
    monkeypatch.setattr(lab.returned, "check_examples", lambda dataset: None)
    monkeypatch.setattr(lab.returned, "check_forward", lambda model, vocab_size: None)
    assert run(f"{PRE}2")[0] == 0
    first, second = (torch.load(tmp_path / f"w{i}", weights_only=True) for i in (1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)
