"""run.py and the two printing commands, with the reference solution and a tiny recipe."""

import importlib
import re
import shutil
import subprocess
import sys
from unittest.mock import Mock

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.interpreter import call
from tests.laid_out import VARIANTS
from tests.project import edit, write_files
from tests.snapshots import check, printed

# The recipe is the data set's, which is tiny.
PRE = "pretrain vanilla wiki.txt --writing_params_path w"


@pytest.fixture
def evaluate(run, trained):
    """A function that evaluates a model, and returns what is printed."""

    def evaluate(variant="vanilla", params="", corpus="birth_dev.tsv"):
        params = params or trained / f"{variant}.finetune.params"
        command = f"evaluate {variant} wiki.txt --reading_params_path {params} --outputs_path out"
        code, output, errors = run(f"{command} --eval_corpus_path {corpus}")
        assert code == 0, errors
        return output

    return evaluate


def test_evaluate_counts_and_hints_when_a_pretrained_model_is_far_below_what_is_usual(
    evaluate, trained, lab, monkeypatch
):
    for variant in VARIANTS:
        output = evaluate(variant)
        assert "of 20, " in output and " percent" in output
        assert "Wrong (5 of " in output  # after one tiny epoch, hardly any answer is right
        expected = "Hint: with the recipe tiny, vanilla usually gets 70% to 90% of dev right (12 t"
        assert (expected in output) == ("Hint" in output) == (variant == "vanilla")  # measured
    shutil.copy(trained / "vanilla.finetune.params", "vanilla.model.params")
    assert "Hint" not in evaluate(params="vanilla.model.params")  # without pretraining
    # Of 20 answers, 12 are right: more than .8 of the lowest usual share, .7.
    monkeypatch.setattr(lab.utils, "evaluate_places", lambda *arguments: (20, 12))
    output = evaluate()
    assert "Correct: 12 of 20, 60.0 percent" in output and "Hint" not in output


def test_experiments_can_use_the_staffs_model(run, assignment, trained, monkeypatch):
    """It is where a student's copy has it; the course's own data is away."""
    folder, data = assignment / "src" / "staff", assignment / "src" / "data"
    data.rename(folder)
    state = torch.load(trained / "vanilla.finetune.params", weights_only=True)
    rounded = {name: tensor.half() for name, tensor in state.items()}
    torch.save(rounded, folder / "vanilla.finetune.params")
    try:
        prediction = "--predict 'I expect that nothing will be left'"
        code, output, errors = run(f"ablate vanilla --model staff {prediction}")
    finally:
        (folder / "vanilla.finetune.params").unlink()
        folder.rename(data)
    assert code == 0, errors
    assert "recipe tiny" in output and "Wrote ablate.svg" in output


def test_evaluate_shows_probabilities_and_writes_a_line_for_each_question(
    evaluate, lab, monkeypatch
):
    """Also if an answer has a newline, or a file has no answers."""
    utils = lab.utils
    answers = [utils.Prediction("London", 0.25), utils.Prediction("Lon\ndon", 0.5)] * 10
    monkeypatch.setattr(utils, "predict_places", lambda *arguments: answers)
    output = evaluate()
    assert " 25%  Where was " in output and " 50%  Where was " in output
    assert "has no answers" in evaluate(corpus="birth_test_inputs.tsv")
    with open("out", encoding="utf-8", newline="") as file:
        assert file.read() == "London\nLon don\n" * 10


def test_finetuning_starts_from_the_parameters_given(run, trained, lab, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        lab.helper, "train", lambda model, path, trainer: seen.update(model.state_dict())
    )
    path = trained / "vanilla.pretrain.params"
    assert run(f"{FINE} birth_places_train.tsv --reading_params_path {path}")[0] == 0
    state = torch.load(path, weights_only=True)
    assert all(torch.equal(seen[name], state[name]) for name in state)


def test_another_recipe_than_the_data_sets_warns_and_a_file_here_comes_before_its(
    run, tmp_path, lab, monkeypatch
):
    monkeypatch.setattr(lab.helper, "train", lambda *arguments: None)
    (tmp_path / "wiki.txt").write_text("only one line here\n", encoding="utf-8")
    _, output, errors = run(PRE)
    assert "1 documents" in output and "Warning" not in errors
    code, _, errors = run(f"{PRE} --recipe smoke")
    assert code == 0
    assert errors.startswith("Warning: ") and errors.count("\n") == 1


def test_training_draws_its_loss_and_logs_it(run, tmp_path):
    code, output, _ = run("pretrain vanilla wiki.txt --writing_params_path w.params --log_dir logs")
    assert code == 0
    assert "see w.svg." in output and (tmp_path / "w.svg").read_text(encoding="utf-8")
    events = EventAccumulator(str(tmp_path / "logs"))
    events.Reload()
    losses = events.Scalars("train/loss")
    assert [event.step for event in losses] == list(range(1, len(losses) + 1))
    for name in ("learning_rate_adamw", "tokens_per_second"):
        assert events.Scalars(f"train/{name}")


# What is written in place of what, and what is said of it.
BUGS = {
    "in forward": ("attention.py", "F.softmax(scores,", "F.softmax(scores.no,", "AttributeError: "),
    "not Python": ("helper.py", "def pretrain(", "def pretrain((", "SyntaxError: "),
}


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.sampled(2)
def test_a_bug_in_a_students_code_ends_with_its_line(assignment, tmp_path, run_python, bug):
    name, old, new, said = BUGS[bug]
    path = assignment / "src" / "submission" / name
    text = path.read_text(encoding="utf-8")
    number = text[: text.index(old)].count("\n") + 1
    edit(path, old, new)
    try:
        ran = run_python(assignment / "src" / "run.py", *PRE.split(), cwd=tmp_path)
    finally:
        path.write_text(text, encoding="utf-8")
    *trace, last = ran.stderr.splitlines()
    assert ran.returncode == 1
    assert last.startswith(f"error: submission/{name}:{number}: ") and said in last
    assert "site-packages" not in ran.stderr
    assert len(trace) < 20, trace


# Files that the table below refers to.
FILES = {
    "latin1.txt": "Ana was born in Málaga.\n".encode("latin-1"),
    "special.txt": "first\nsecond □\n".encode(),
    "no_tab.tsv": b"Where was Ana born?\tLima\nWhere was Bea born? Lima\n",
    "strange.tsv": "Where was Ana born?\tLima\nWhere was Ωlga born?\tLima\n".encode(),
    "strange_inputs.tsv": "Where was Ωlga born?\n".encode(),
    "long.tsv": b"Where was " + b"Ana " * 30 + b"born?\tLima\n",
}
FINE = "finetune vanilla wiki.txt --writing_params_path w --finetune_corpus_path"
EVAL = "evaluate vanilla wiki.txt --eval_corpus_path birth_dev.tsv --reading_params_path"
BAD_INPUT = {
    "unknown function": PRE.replace("pretrain", "train"),
    "missing option": "pretrain vanilla wiki.txt",
    "unknown recipe": f"{PRE} --recipe quick",
    "no such device": f"{PRE} --device cuda",
    "no threads": f"{PRE} --seed 0 --threads 0",
    "too many threads": f"{PRE} --seed 0 --threads 9",
    "missing corpus": PRE.replace("wiki.txt", "wikki.txt"),
    "corpus not UTF-8": PRE.replace("wiki.txt", "latin1.txt"),
    "reserved character": PRE.replace("wiki.txt", "special.txt"),
    "folder missing": PRE.replace("path w", "path no/w"),
    "onto the data set": f"{EVAL} vanilla.params --outputs_path {{data}}/x.txt",
    "onto a corpus": PRE.replace("wiki.txt", "./special.txt").replace("path w", "path special.txt"),
    "onto the parameters": f"{EVAL} vanilla.params --outputs_path vanilla.params",
    "onto the second parameters": (
        "inspect vanilla wiki.txt --reading_params_path vanilla.params --outputs_path rope.params "
        "--second_variant rope --second_params_path rope.params"
    ),
    "no tab": f"{FINE} no_tab.tsv",
    "no places": f"{FINE} birth_test_inputs.tsv",
    "unknown character": f"{FINE} strange.tsv",
    "too long": f"{FINE} long.tsv",
    "missing parameters": f"{EVAL} no.params --outputs_path out",
    "other variant": f"{EVAL} rope.params --outputs_path out",
    "other size": f"{EVAL} vanilla.params --outputs_path out --recipe smoke",
    "other variant, finetuning": f"{FINE} birth_places_train.tsv --reading_params_path rope.params",
    "unknown character, evaluating": (
        f"{EVAL} vanilla.params --outputs_path out".replace("birth_dev", "strange_inputs")
    ),
    "the staff's model of another variant": "trace rope --model staff",
    "the staff's model for a training": "pretrain vanilla --model staff --writing_params_path w",
    "two models": "trace vanilla --model staff --reading_params_path vanilla.params",
    "no model of the staff's": "trace vanilla --model staff --predict 'I expect no effect at all'",
    "two ways to go on": f"{PRE} --resume --restart",
}


def unwritten(*arguments, **keywords):
    raise NotImplementedError("[pretraining] is yours to write")


SEEDS = ("", "-1", "4294967296", "٣", "x" * 10_000)


def test_bad_input_is_one_clear_line_and_leaves_nothing(
    run, assignment, trained, tmp_path, lab, monkeypatch
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)  # for "no such device"
    monkeypatch.setattr("sys.argv", ["run.py"])
    write_files(tmp_path, FILES)
    for variant in ("vanilla", "rope"):
        shutil.copy(trained / f"{variant}.finetune.params", tmp_path / f"{variant}.params")
    found = {}

    def refused(title: str, command: str) -> None:
        before = set(tmp_path.iterdir())
        code, _, errors = run(command)
        assert code == 2, title
        last = [line for line in errors.splitlines() if not line.startswith("Warning")][-1]
        # Words of torch, and of Python.
        last = re.sub(r"(torch\.load|\(choose from).*", r"\1...", last)
        found[title] = re.sub(r"(test_run\.py):\d+", r"\1:LINE", last)
        assert set(tmp_path.iterdir()) == before, title

    for title, command in BAD_INPUT.items():
        refused(title, command.replace("{data}", f"{assignment}/src/data"))
    for number, text in enumerate(SEEDS):
        (tmp_path / "training_seed.txt").write_text(text, encoding="utf-8")
        refused(f"a file that is no seed, {number}", PRE)
    (tmp_path / "training_seed.txt").unlink()
    recipes = assignment / "src" / "edition.json"
    content = recipes.read_bytes()
    recipes.unlink()
    try:
        refused("no recipes", PRE)
    finally:
        recipes.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr(lab.helper, "pretrain", unwritten)
        refused("a part not written yet", PRE)
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", Mock(side_effect=OSError(28, "No space left on device")))
        refused("a full disk", f"{PRE} --seed 0")
        patch.setattr("os.access", lambda *_: False)  # no folder is read-only for root
        refused("a read-only folder", PRE)
    monkeypatch.delattr(lab.helper, "initialize_rope_model")
    refused("a helper of an earlier year", PRE.replace("vanilla", "rope"))
    masks = {str(assignment): "A5", str(tmp_path): "HERE", torch.__version__: "N"}
    check("run_refused", found, masks)


def test_what_the_printing_commands_say(assignment, lab, monkeypatch, capsys):
    dataset, baseline = map(importlib.import_module, ("dataset", "london_baseline"))
    monkeypatch.setattr("sys.argv", ["command.py"])
    found = {}

    def say(title: str, main, *arguments: str) -> None:
        ran = call(main, capsys, *arguments)
        said = printed(*ran).partition("(choose")[0]  # Python's words
        found[title] = re.sub(r"(test_run\.py):\d+", r"\1:LINE", said)

    say("dataset.py namedata", dataset.main, "namedata")
    say("dataset.py charcorruption", dataset.main, "charcorruption")
    say("dataset.py names", dataset.main, "names")
    say("london_baseline.py", baseline.main)
    say("london_baseline.py other.tsv", baseline.main, "other.tsv")
    monkeypatch.setattr(dataset.CharCorruptionDataset, "__getitem__", lambda *_: None)
    say("dataset.py, an item is None", dataset.main, "charcorruption")
    for title, answer in (
        ("unwritten", unwritten),
        ("None", lambda path: None),
        ("a share", lambda path: (0.5, 100)),
    ):
        monkeypatch.setattr(baseline, "london_baseline", answer)
        say(f"london_baseline.py, {title}", baseline.main)
    check("printing_commands", found, {str(assignment): "A5"})


# -- seeds, and interrupted trainings --------------------------------------------------------------


def test_trainings_of_a_folder_have_a_seed_of_their_own(run, tmp_path, monkeypatch):
    """It is drawn once, saved, printed and recorded; given by hand, it gives identical bits."""
    drawn = iter((2**32 - 1, 7))
    monkeypatch.setattr("secrets.randbelow", lambda most: next(drawn))
    seed = "4294967295"

    def pretrain(name, options=""):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        code, output, errors = run(f"{PRE.replace('path w', f'path {path}')} {options}")
        assert code == 0, errors
        return output, path.read_bytes()

    output, first = pretrain("a/w.params")
    kept = tmp_path / "a" / "training_seed.txt"
    assert f"seed {seed} (kept in {kept}; " in output
    assert kept.read_text(encoding="utf-8") == f"{seed}\n"
    assert f"seed {seed}" in (tmp_path / "a" / "w.svg").read_text(encoding="utf-8")
    kept.with_name("w.params").unlink()
    assert pretrain("a/w.params")[1] == first
    assert pretrain("b/w.params", f"--seed {seed}")[1] == first
    assert not (tmp_path / "b" / "training_seed.txt").exists()  # a given seed is not saved
    output, other = pretrain("c/w.params")
    assert "seed 7 (kept" in output and other != first


def test_interrupting_keeps_the_older_file_and_restarting_no_older_checkpoint(
    run, lab, monkeypatch, tmp_path
):
    """If the new training is killed before its first one, the old isn't mistaken for it."""
    monkeypatch.setattr(lab.helper, "train", Mock(side_effect=KeyboardInterrupt))
    (tmp_path / "w").write_text("older", encoding="utf-8")
    code, _, errors = run(PRE)
    assert (code, errors) == (130, "\nInterrupted: w keeps its older contents.\n")
    assert (tmp_path / "w").read_text(encoding="utf-8") == "older"
    (tmp_path / "w").rename(tmp_path / "w.checkpoint")
    code, _, errors = run(f"{PRE} --restart")
    assert (code, errors) == (130, "\nInterrupted: there is no w.\n")


def test_a_checkpoint_of_another_recipe_is_one_line(run, tmp_path, monkeypatch):
    from pretraining import checkpoints

    def save_and_stop(keeper):
        keeper.save()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Keeper, "after_step", save_and_stop)
        assert run(PRE)[0] == 130
    code, output, errors = run(PRE)
    assert (code, output) == (2, "")
    found = {"without --resume or --restart": errors}
    code, _, errors = run(f"{PRE} --recipe smoke --resume")
    assert code == 2
    found["of another recipe"] = re.sub(r"GPTConfig\(.*?\)", "GPTConfig(...)", errors)
    check("run_checkpoint_refused", found)
    assert (tmp_path / "w.checkpoint").exists() and not (tmp_path / "w").exists()
    assert run(f"{PRE} --resume")[0] == 0
    assert not (tmp_path / "w.checkpoint").exists()  # the training is finished


def test_a_file_is_written_by_one_training_at_a_time(assignment, run, tmp_path):
    """A killed training's lock doesn't stop the next one, although its file is still there."""
    command = [sys.executable, assignment / "src" / "run.py", *PRE.split(), "--recipe", "long"]
    first = subprocess.Popen(
        [*map(str, command), "--threads", "1"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        assert b"pretrain vanilla: recipe long" in first.stdout.readline()
        code, output, errors = run(PRE)
        assert (code, output) == (2, "")
        assert errors.startswith("error: w: another training ") and errors.count("\n") == 1
        assert run(f"{PRE} --resume")[0] == run(f"{PRE} --restart")[0] == 2
        assert run(PRE.replace("path w", "path other"))[0] == 0
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    assert (tmp_path / "w.lock").exists()
    assert run(f"{PRE} --restart")[0] == 0
    assert not list(tmp_path.glob("*.lock"))
