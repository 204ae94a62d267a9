"""Each command checks what students' functions return: one line names function and question."""

import importlib
import runpy

import pytest
import torch

PRE = "pretrain vanilla wiki.txt --writing_params_path w"
FINE = "finetune vanilla wiki.txt --writing_params_path w --finetune_corpus_path"

# What each function may return in place of what is asked for, and how the line shows it.
WRONG = {
    "nothing": (None, "None (is its `return` missing?), expected"),
    "a number": (0.5, "0.5, expected"),
    "a text": ("done", "'done', expected"),
    "Nones": ((None, None), "a tuple of 2: None, None, expected"),
    "one": (object(), "a value of type object, expected"),
    "three": ((1, 2, 3), "a tuple of 3: 1, 2, 3, expected"),
    "a class": ((int, int), "the class int itself"),
}
OF_HELPER = {
    "initialize_vanilla_model": ("finetuning", "expected a GPT\n"),
    "pretrain": ("pretraining", "expected a TrainerConfig and the Trainer made with it\n"),
    "finetune": ("pretraining", "expected a TrainerConfig and the Trainer made with it\n"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("function", OF_HELPER)
def test_what_a_helper_returns_is_checked(run, source, monkeypatch, function, wrong, tmp_path):
    part, expected = OF_HELPER[function]
    value, shown = WRONG[wrong]
    path = tmp_path / "helper.py"
    body = f"def {function}(*_, **__):\n    # [{part}]\n    return VALUE\n"
    path.write_text(body, encoding="utf-8")
    own = runpy.run_path(str(path), {"VALUE": value})
    monkeypatch.setattr(source.helper, function, own[function])
    command = f"{FINE} birth_places_train.tsv" if function == "finetune" else PRE
    code, _, errors = run(command)
    assert code == 2 and errors.count("\n") == 1, errors
    place = f"{path.parent.name}/helper.py:1, [{part}]"
    assert errors.startswith(f"error: {function} ({place}) returned ")
    assert shown in errors and errors.endswith(expected)


ITEMS = {
    "nothing": (None, "returned None (is its `return` missing?), expected"),
    "a text": ("⁇", "returned '⁇', expected"),
    "lists": (([1], [2]), "returned a tuple of 2: a list of 1: 1, a list of 1: 2, expected"),
    "one tensor": (torch.zeros(64), "returned a tensor of shape (64,), torch.float32, expected"),
    "floats": ((torch.zeros(64),) * 2, "x of shape (64,), torch.float32, and y of shape (64,)"),
    "lengths": (
        (torch.zeros(64, dtype=torch.long), torch.zeros(63, dtype=torch.long)),
        "x of shape (64,), torch.int64, and y of shape (63,), torch.int64, expected",
    ),
    "rows": ((torch.zeros(1, 64, dtype=torch.long),) * 2, "x of shape (1, 64)"),
}


@pytest.mark.parametrize("wrong", ITEMS)
def test_what_the_corruption_returns_is_checked_before_training(run, monkeypatch, wrong):
    from submission.dataset import CharCorruptionDataset

    value, shown = ITEMS[wrong]
    monkeypatch.setattr(CharCorruptionDataset, "__getitem__", lambda *_: value)
    code, output, errors = run(PRE)
    assert code == 2 and errors.count("\n") == 1 and " steps of " not in output
    assert errors.startswith("error: ") and shown in errors
    assert "two tensors of the same length with dtype torch.long" in errors


def test_items_of_different_lengths_are_named_before_training(run, monkeypatch):
    from submission.dataset import CharCorruptionDataset

    def item(self, index):
        ids = torch.zeros(64 - (index == 3), dtype=torch.long)
        return ids, ids

    monkeypatch.setattr(CharCorruptionDataset, "__getitem__", item)
    code, output, errors = run(PRE)
    assert code == 2 and errors.count("\n") == 1 and " steps of " not in output
    assert "x and y of length 64 for item 0, and 63 for item 3, expected the same" in errors


def test_the_check_names_the_part(source):
    from pretraining import returned
    from submission.dataset import CharCorruptionDataset

    named = returned.place(CharCorruptionDataset.__getitem__)
    assert named.startswith("CharCorruptionDataset.__getitem__ (submission/dataset.py:")
    assert named.endswith(", [span corruption])")


def test_checking_draws_no_random_number(run, source, monkeypatch, tmp_path):
    """Parameters stay what they were before items and models were checked."""
    from pretraining import returned

    assert run(f"{PRE}1")[0] == 0
    monkeypatch.setattr(returned, "check_examples", lambda dataset: None)
    monkeypatch.setattr(returned, "check_forward", lambda model, vocab_size: None)
    assert run(f"{PRE}2")[0] == 0
    first, second = (torch.load(tmp_path / f"w{i}", weights_only=True) for i in (1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("value", [None, 0.04, (0.5, 100), "4 of 100", (1, 2, 3)])
def test_what_the_baseline_returns_is_checked(source, monkeypatch, capsys, value):
    command = importlib.import_module("london_baseline")
    monkeypatch.setattr(command, "london_baseline", lambda path: value)
    assert command.main(["birth_dev.tsv"]) == 2
    errors = capsys.readouterr().err
    assert (
        errors.count("\n") == 1 and "expected two integers: the number of right answers" in errors
    )


@pytest.mark.parametrize("value", [None, "⁇⁇", 3.5])
def test_what_an_item_of_the_printing_command_is_checked(source, monkeypatch, capsys, value):
    from submission.dataset import CharCorruptionDataset

    command = importlib.import_module("dataset")
    monkeypatch.setattr(CharCorruptionDataset, "__getitem__", lambda *_: value)
    assert command.main(["charcorruption"]) == 2
    assert "expected x and y, two tensors of the same length" in capsys.readouterr().err


# ---------------------------------------------------------------- forward, and what it is made of


def of(variant: str) -> dict[str, str]:
    """Return every command that runs a model of a variant; parameters are never read."""
    reading = f"{variant} wiki.txt --reading_params_path params"
    return {
        "pretrain": f"pretrain {variant} wiki.txt --writing_params_path w",
        "finetune": f"finetune {variant} wiki.txt --writing_params_path w "
        "--finetune_corpus_path birth_places_train.tsv",
        "evaluate": f"evaluate {reading} --eval_corpus_path birth_dev.tsv --outputs_path out",
        "cloze": f"cloze {reading}",
        "calibration": f"calibration {reading} --outputs_path out.svg",
        "inspect": f"inspect {reading} --outputs_path out.html",
        "recall": f"recall {variant}",
    }


SHAPES = {
    # what is returned, from the first argument, and how the line shows it
    "nothing": (lambda x: None, "None (is its `return` missing?)"),
    "a pair": (lambda x: (x, None), "a tuple of 2: a tensor of shape ("),
    "a list": (lambda x: x.tolist(), "a value of type list"),
    "another shape": (lambda x: x[:, :, :1], ", torch."),
    "fewer axes": (lambda x: x[0], ", torch."),
}
ATTENTION = "SynthesizerAttention.forward (submission/attention.py:"


@pytest.fixture
def written_as(source, monkeypatch):
    """A function that has one of a student's functions return something else, at its own place."""

    def replace(owner, name: str, value) -> None:
        function = getattr(owner, name)

        def wrong(*arguments, **keywords):
            tensors = (a for a in arguments if isinstance(a, torch.Tensor))
            return value(next(tensors, None))

        wrong.__wrapped__ = function  # inspect looks for its lines there
        wrong.__qualname__ = function.__qualname__
        monkeypatch.setattr(owner, name, wrong)

    return replace


def fails(run, command: str) -> str:
    """Run a command that stops in a student's function: one line, and nothing is trained."""
    code, output, errors = run(command)
    assert code == 2 and errors.count("\n") == 1 and errors.startswith("error: "), errors
    assert " steps of " not in output
    return errors


@pytest.mark.parametrize("wrong", SHAPES)
@pytest.mark.parametrize("command", of("synthesizer"))
def test_what_attention_returns_is_checked(run, source, written_as, tmp_path, command, wrong):
    (tmp_path / "params").touch()
    value, shown = SHAPES[wrong]
    written_as(source.attention.SynthesizerAttention, "forward", value)
    errors = fails(run, of("synthesizer")[command])
    assert ATTENTION in errors and ", [synthesizer]) returned " in errors and shown in errors
    assert "expected a tensor of shape (2, " in errors


@pytest.mark.parametrize("wrong", SHAPES)
def test_what_turns_by_positions_is_checked(run, source, written_as, wrong):
    value, shown = SHAPES[wrong]
    written_as(source.attention, "apply_rotary_emb", value)
    errors = fails(run, of("rope")["pretrain"])
    assert "error: apply_rotary_emb (submission/attention.py:" in errors
    assert ", [rope]) returned " in errors and shown in errors


@pytest.mark.parametrize("value", [None, (1, 2), 0.5])
def test_what_the_angles_are_is_checked(run, source, written_as, value):
    written_as(source.attention, "precompute_rotary_emb", lambda _: value)
    errors = fails(run, of("rope")["pretrain"])
    assert "error: precompute_rotary_emb (submission/attention.py:" in errors
    assert ", [rope]) returned " in errors and errors.endswith("expected a tensor\n")


LOGITS = torch.zeros(2, 7, 84)  # the smoke world of seed 1 has 84 ids
ANSWERS = {
    "nothing": None,
    "logits alone": LOGITS,
    "no loss": (LOGITS, None),
    "other logits": (LOGITS[:, :, 1:], torch.zeros(())),
    "a loss a position": (LOGITS, LOGITS),
}


@pytest.mark.parametrize("wrong", ANSWERS)
def test_what_a_model_returns_is_checked(run, source, written_as, wrong):
    written_as(source.model.GPT, "forward", lambda _: ANSWERS[wrong])
    errors = fails(run, PRE)
    assert "error: GPT.forward (submission/model.py:" in errors
    assert "expected logits of shape (2, 7, 84), and the loss\n" in errors


def test_a_module_that_is_no_gpt_is_told(run, source, written_as):
    written_as(source.helper, "initialize_vanilla_model", lambda _: torch.nn.Linear(2, 2))
    assert "returned a value of type Linear, expected a GPT\n" in fails(run, PRE)


TRAINERS = {
    # passed to Trainer in place of a model, a dataset and a config
    "no config": ({"config": None}, "a Trainer with config = None, expected a TrainerConfig"),
    "no model": ({"model": None}, "model = None, expected the model that it was given"),
    "no dataset": ({"train_dataset": None}, "train_dataset = None, expected a dataset of pairs"),
    "a text": ({"train_dataset": "a text"}, "train_dataset = 'a text', expected a dataset"),
    "texts": ({"train_dataset": ["a", "b"]}, "returned 'a', expected x and y, two tensors"),
}


@pytest.mark.parametrize("wrong", TRAINERS)
@pytest.mark.parametrize("function", ["pretrain", "finetune"])
def test_what_a_trainer_trains_is_checked(run, source, monkeypatch, function, wrong):
    changed, shown = TRAINERS[wrong]
    known = getattr(source.helper, function)

    def prepare(*arguments, recipe=None, writer=None):
        tconf, trainer = known(*arguments, recipe=recipe, writer=writer)
        for name, value in changed.items():
            setattr(trainer, name, value)
        return tconf, trainer

    monkeypatch.setattr(source.helper, function, prepare)
    command = f"{FINE} birth_places_train.tsv" if function == "finetune" else PRE
    assert shown in fails(run, command)
