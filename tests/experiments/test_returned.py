"""Each command checks what students' functions return: one line names function and question."""

import importlib
import re

import pytest
import torch

from tests.snapshots import check

PRE = "pretrain vanilla wiki.txt --writing_params_path w"
FINE = (
    "finetune vanilla wiki.txt --writing_params_path w "
    "--finetune_corpus_path birth_places_train.tsv"
)


def of(variant: str) -> dict[str, str]:
    """Return every command that runs a model of a variant; parameters are never read."""
    reading = f"{variant} wiki.txt --reading_params_path params"
    return {
        "pretrain": PRE.replace("vanilla", variant),
        "finetune": FINE.replace("vanilla", variant),
        "evaluate": f"evaluate {reading} --eval_corpus_path birth_dev.tsv --outputs_path out",
        "cloze": f"cloze {reading}",
        "calibration": f"calibration {reading} --outputs_path out.svg",
        "inspect": f"inspect {reading} --outputs_path out.html",
        "recall": f"recall {variant}",
    }


def masked(errors: str) -> str:
    """Return a line without the numbers of lines and the names of functions in this file."""
    own = r"\S+ \(experiments/test_returned\.py:\d+\)"
    return re.sub(r"(\.py):\d+", r"\1:LINE", re.sub(own, "FUNCTION (PLACE)", errors))


@pytest.fixture
def fails(run, tmp_path):
    """Run a command that stops in a student's function: one line, and nothing is trained."""
    (tmp_path / "params").touch()

    def fails(command: str) -> str:
        code, _, errors = run(command)
        assert code == 2 and errors.count("\n") == 1 and errors.startswith("error: "), errors
        return masked(errors)

    return fails


@pytest.fixture
def written_as(lab, monkeypatch):
    """A function that has one of a student's functions return something else, at its own place."""

    def replace(owner, name: str, value) -> None:
        function = getattr(owner, name)
        function = getattr(function, "__wrapped__", function)

        def wrong(*arguments, **keywords):
            tensors = (a for a in arguments if isinstance(a, torch.Tensor))
            return value(next(tensors, None))

        wrong.__wrapped__ = function  # inspect looks for its lines there
        wrong.__qualname__ = function.__qualname__
        monkeypatch.setattr(owner, name, wrong)

    return replace


# What a function may return in place of what is asked for.
WRONG = {
    "nothing": None,
    "a number": 0.5,
    "a text": "done",
    "Nones": (None, None),
    "an object": object(),
    "three": (1, 2, 3),
    "a class": (int, int),
    "another model": torch.nn.Linear(2, 2),
}


def test_what_a_helper_returns_is_checked(fails, lab, written_as):
    found = {}
    for title, value in WRONG.items():
        for name in ("initialize_vanilla_model", "pretrain", "finetune"):
            known = getattr(lab.helper, name)
            written_as(lab.helper, name, lambda _, value=value: value)
            found[f"{name} returns {title}"] = fails(FINE if name == "finetune" else PRE)
            setattr(lab.helper, name, known)
    check("returned_by_helper", found)


LONGS = torch.zeros(64, dtype=torch.long)
ITEMS = {
    "nothing": None,
    "a text": "⁇",
    "lists": ([1], [2]),
    "one tensor": torch.zeros(64),
    "floats": (torch.zeros(64),) * 2,
    "other lengths": (LONGS, LONGS[1:]),
    "rows": (LONGS[None],) * 2,
}


def test_what_the_corruption_returns_is_checked_before_training(fails, lab, monkeypatch, capsys):
    corruption = lab.dataset.CharCorruptionDataset
    printing = importlib.import_module("dataset")
    found = {}
    for title, value in ITEMS.items():
        monkeypatch.setattr(corruption, "__getitem__", lambda *_, value=value: value)
        found[title] = fails(PRE)
        assert printing.main(["charcorruption"]) == 2
        assert capsys.readouterr().err.count("\n") == 1

    def item(self, index):
        return (torch.zeros(64 - (index == 3), dtype=torch.long),) * 2

    monkeypatch.setattr(corruption, "__getitem__", item)
    found["items of different lengths"] = fails(PRE)
    check("returned_by_corruption", found)


def test_the_check_names_the_part(lab):
    named = lab.returned.place(lab.dataset.CharCorruptionDataset.__getitem__)
    assert named.startswith("CharCorruptionDataset.__getitem__ (submission/dataset.py:")
    assert named.endswith(", [span corruption])")


def test_checking_draws_no_random_number(run, lab, monkeypatch, tmp_path):
    """Parameters stay what they were before items and models were checked."""
    assert run(f"{PRE}1")[0] == 0
    monkeypatch.setattr(lab.returned, "check_examples", lambda dataset: None)
    monkeypatch.setattr(lab.returned, "check_forward", lambda model, vocab_size: None)
    assert run(f"{PRE}2")[0] == 0
    first, second = (torch.load(tmp_path / f"w{i}", weights_only=True) for i in (1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_the_baseline_returns_is_checked(lab, monkeypatch, capsys):
    command = importlib.import_module("london_baseline")
    found = {}
    for value in (None, 0.04, (0.5, 100), "4 of 100", (1, 2, 3)):
        monkeypatch.setattr(command, "london_baseline", lambda path, value=value: value)
        assert command.main(["birth_dev.tsv"]) == 2
        found[repr(value)] = masked(capsys.readouterr().err)
        assert found[repr(value)].count("\n") == 1
    check("returned_by_baseline", found)


# What is returned in place of a tensor, the first argument.
SHAPES = {
    "nothing": lambda x: None,
    "a pair": lambda x: (x, None),
    "a list": lambda x: x.tolist(),
    "another shape": lambda x: x[:, :, :1],
    "fewer axes": lambda x: x[0],
}


def test_what_attention_and_its_parts_return_is_checked(fails, lab, written_as):
    attention = lab.attention
    found = {}
    for command, words in of("synthesizer").items():
        written_as(attention.SynthesizerAttention, "forward", SHAPES["nothing"])
        found[f"attention returns nothing, {command}"] = fails(words)
    for title, value in SHAPES.items():
        written_as(attention.SynthesizerAttention, "forward", value)
        found[f"attention returns {title}"] = fails(of("synthesizer")["pretrain"])
        written_as(attention, "apply_rotary_emb", value)
        found[f"apply_rotary_emb returns {title}"] = fails(of("rope")["pretrain"])
    for value in (None, (1, 2), 0.5):
        written_as(attention, "precompute_rotary_emb", lambda _, value=value: value)
        found[f"precompute_rotary_emb returns {value}"] = fails(of("rope")["pretrain"])
    check("returned_by_attention", found)


LOGITS = torch.zeros(2, 7, 84)  # the smoke world of seed 1 has 84 ids
ANSWERS = {
    "nothing": None,
    "logits alone": LOGITS,
    "no loss": (LOGITS, None),
    "other logits": (LOGITS[:, :, 1:], torch.zeros(())),
    "a loss a position": (LOGITS, LOGITS),
}


def test_what_a_model_returns_is_checked(fails, lab, written_as):
    found = {}
    for title, value in ANSWERS.items():
        written_as(lab.model.GPT, "forward", lambda _, value=value: value)
        found[title] = fails(PRE)
    check("returned_by_model", found)


# What a Trainer has in place of a model, a dataset and a config.
TRAINERS = {
    "no config": ("config", None),
    "no model": ("model", None),
    "no dataset": ("train_dataset", None),
    "a text": ("train_dataset", "a text"),
    "texts": ("train_dataset", ["a", "b"]),
}


def test_what_a_trainer_trains_is_checked(fails, lab, monkeypatch):
    found = {}
    for function, command in (("pretrain", PRE), ("finetune", FINE)):
        known = getattr(lab.helper, function)
        for title, changed in TRAINERS.items():

            def prepare(*arguments, known=known, changed=changed, recipe=None, writer=None):
                tconf, trainer = known(*arguments, recipe=recipe, writer=writer)
                setattr(trainer, *changed)
                return tconf, trainer

            monkeypatch.setattr(lab.helper, function, prepare)
            found[f"{function}: {title}"] = fails(command)
    check("returned_by_trainers", found)
