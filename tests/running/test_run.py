"""run.py and the two printing commands, with the reference solution and a tiny recipe."""

import contextlib
import importlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import torch

from tests.laid_out import VARIANTS
from tests.snapshots import check

# The problem sheet's, word for word.
PRETRAIN = """python src/run.py pretrain vanilla wiki.txt \
        --writing_params_path vanilla.pretrain.params"""
FINETUNE = """python src/run.py finetune vanilla wiki.txt \
        --reading_params_path vanilla.pretrain.params \
        --writing_params_path vanilla.finetune.params \
        --finetune_corpus_path birth_places_train.tsv"""
EVALUATE = """python src/run.py evaluate vanilla wiki.txt \
        --reading_params_path vanilla.finetune.params \
        --eval_corpus_path birth_dev.tsv \
        --outputs_path vanilla.pretrain.dev.predictions"""
# Shortened: the recipe is the data set's, which is tiny.
PRE = "pretrain vanilla wiki.txt --writing_params_path w"


def test_the_sheets_commands_work_from_the_assignments_root(root, main):
    python, *arguments = shlex.split(PRETRAIN)
    subprocess.run([sys.executable, *arguments], cwd=root, check=True, stdin=subprocess.DEVNULL)
    with contextlib.chdir(root):
        for command in (FINETUNE, EVALUATE):
            assert main(shlex.split(command)[2:]) == 0
    text = (root / "vanilla.pretrain.dev.predictions").read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert len(text.removesuffix("\n").split("\n")) == 20


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


@pytest.mark.parametrize("variant", VARIANTS)
def test_evaluate_prints_correct_total_and_percent(evaluate, variant):
    output = evaluate(variant)
    assert "of 20, " in output and " percent" in output
    assert "seed" not in output  # nothing is drawn
    assert "Wrong (5 of " in output  # after one tiny epoch, hardly any answer is right


def test_evaluate_hints_when_a_pretrained_model_is_far_below_what_is_usual(
    evaluate, trained, modules, monkeypatch
):
    shutil.copy(trained / "vanilla.finetune.params", "vanilla.model.params")
    expected = "Hint: with the recipe tiny, vanilla usually gets 70% to 90% of dev right (12 train"
    assert expected in evaluate()
    assert "Hint" not in evaluate(params="vanilla.model.params")  # without pretraining
    assert "Hint" not in evaluate("rope")  # never measured
    # Of 20 answers, 12 are right: more than .8 of the lowest usual share, .7.
    monkeypatch.setattr(modules[0].utils, "evaluate_places", lambda *arguments: (20, 12))
    output = evaluate()
    assert "Correct: 12 of 20, 60.0 percent" in output and "Hint" not in output


@pytest.fixture
def staff(root, trained):
    """A model of the staff's where a student's copy has it; the course's own data is away."""
    folder, data = root / "src" / "staff", root / "src" / "data"
    data.rename(folder)
    for stage in ("pretrain", "finetune"):
        state = torch.load(trained / f"vanilla.{stage}.params", weights_only=True)
        rounded = {name: tensor.half() for name, tensor in state.items()}
        torch.save(rounded, folder / f"vanilla.{stage}.params")
    yield folder
    for stage in ("pretrain", "finetune"):
        (folder / f"vanilla.{stage}.params").unlink()
    folder.rename(data)


@pytest.mark.parametrize("experiment", ["ablate", "reverse", "overwrite"])
def test_experiments_can_use_the_staffs_model(run, staff, experiment):
    command = f"{experiment} vanilla --model staff"
    code, output, errors = run(f"{command} --predict 'I expect that nothing will be left'")
    assert code == 0, errors
    assert "recipe tiny" in output and f"Wrote {experiment}.svg" in output


@pytest.mark.parametrize(
    "command, says",
    [
        ("trace rope --model staff", "is of the variant vanilla"),
        ("pretrain vanilla --model staff --writing_params_path w", "for cloze, calibration"),
        ("trace vanilla --model staff --reading_params_path w", "exclude each other"),
    ],
)
def test_the_staffs_model_is_for_looking_into(run, command, says):
    code, _, errors = run(command)
    assert code == 2 and says in errors


def test_a_copy_without_the_staffs_model_says_so(run):
    code, _, errors = run("trace vanilla --model staff --predict 'I expect no effect at all'")
    assert code == 2 and "no such file" in errors and "vanilla.finetune.params" in errors


def test_evaluate_shows_probabilities_and_writes_a_line_for_each_question(
    evaluate, modules, monkeypatch
):
    """Also if an answer has a newline, or a file has no answers."""
    utils = modules[0].utils
    answers = [utils.Prediction("London", 0.25), utils.Prediction("Lon\ndon", 0.5)] * 10
    monkeypatch.setattr(utils, "predict_places", lambda *arguments: answers)
    output = evaluate()
    assert " 25%  Where was " in output and " 50%  Where was " in output
    assert "has no answers" in evaluate(corpus="birth_test_inputs.tsv")
    with open("out", encoding="utf-8", newline="") as file:
        assert file.read() == "London\nLon don\n" * 10


def test_finetuning_starts_from_the_parameters_given(run, trained, modules, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        modules[1], "train", lambda model, path, trainer: seen.update(model.state_dict())
    )
    reading = trained / "vanilla.pretrain.params"
    code, *_ = run(
        f"finetune vanilla wiki.txt --reading_params_path {reading} --writing_params_path w "
        "--finetune_corpus_path birth_places_train.tsv"
    )
    assert code == 0
    state = torch.load(reading, weights_only=True)
    assert all(torch.equal(seen[name], state[name]) for name in state)


def test_helpers_of_earlier_years_without_a_recipe_still_run(run, modules, monkeypatch):
    helper = modules[1]
    known = helper.pretrain

    def pretrain(pretrain_dataset, block_size, model, pretrain_lr=6e-3, writer=None):
        return known(pretrain_dataset, block_size, model, pretrain_lr, writer, "tiny")

    monkeypatch.setattr(helper, "pretrain", pretrain)
    assert run(PRE)[0] == 0


def test_another_recipe_than_the_data_sets_warns(run, modules, monkeypatch):
    monkeypatch.setattr(modules[1], "train", lambda *arguments: None)
    assert "Warning" not in run(PRE)[2]
    code, _, errors = run(f"{PRE} --recipe smoke")
    assert code == 0
    assert errors.startswith("Warning: ") and errors.count("\n") == 1


def test_a_file_here_comes_before_one_of_the_data_set(run, tmp_path):
    (tmp_path / "wiki.txt").write_text("only one line here\n", encoding="utf-8")
    _, output, _ = run(PRE)
    assert "1 documents" in output


def test_training_draws_its_loss_and_logs_it(run, tmp_path):
    code, output, _ = run("pretrain vanilla wiki.txt --writing_params_path w.params --log_dir logs")
    assert code == 0
    assert "see w.svg." in output and (tmp_path / "w.svg").read_text(encoding="utf-8")
    assert [path.name[:13] for path in (tmp_path / "logs").iterdir()] == ["events.out.tf"]


def test_an_environment_from_before_matplotlib_trains_without_a_picture(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, output, _ = run("pretrain vanilla wiki.txt --writing_params_path w.params")
    assert code == 0 and (tmp_path / "w.params").is_file() and not (tmp_path / "w.svg").exists()
    assert "There is no picture, since this Python has no matplotlib." in output
    outputs = "--reading_params_path w.params --outputs_path c.svg"
    code, _, errors = run(f"calibration vanilla wiki.txt {outputs}")
    assert code == 2 and "has no matplotlib" in errors and "install -r" in errors


BUGS = {
    "in forward": (
        "attention.py",
        "F.softmax(scores, dim=-1)",
        "F.softmax(scores @ q.new_zeros(3, 3), dim=-1)",
        "RuntimeError: ",
    ),
    "at import": ("helper.py", "from pathlib import Path\n", "from pathlib import Road\n", "Road"),
    "not Python": ("helper.py", "def pretrain(", "def pretrain((", "SyntaxError: "),
    "in an item": (
        "dataset.py",
        "return ids[:-1], ids[1:]",
        "return ids[:-1], ids.no",
        "AttributeError: ",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.sampled(2)
def test_a_bug_in_a_students_code_ends_with_its_line(root, tmp_path, run_python, bug):
    name, old, new, said = BUGS[bug]
    path = root / "src" / "submission" / name
    text = path.read_text(encoding="utf-8")
    number = text[: text.index(old)].count("\n") + 1
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        ran = run_python(root / "src" / "run.py", *PRE.split(), cwd=tmp_path)
    finally:
        path.write_text(text, encoding="utf-8")
    *trace, last = ran.stderr.splitlines()
    assert ran.returncode == 1
    assert last.startswith(f"error: submission/{name}:{number}: ") and said in last
    assert "site-packages" not in ran.stderr
    assert len(trace) < 20, trace


def test_a_fault_of_ours_keeps_its_traceback(run, modules, monkeypatch):
    def pretrain(*arguments, **keywords):
        raise ValueError("a bug")

    monkeypatch.setattr(modules[1], "pretrain", pretrain)
    with pytest.raises(ValueError, match="a bug"):
        run(PRE)


def bad_files(tmp_path, trained) -> None:
    """Write the files that the table below refers to."""
    contents = {
        "latin1.txt": "Ana was born in Málaga.\n".encode("latin-1"),
        "empty.txt": b"\n",
        "special.txt": "first\nsecond □\n".encode(),
        "no_tab.tsv": b"Where was Ana born?\tLima\nWhere was Bea born? Lima\n",
        "strange.tsv": "Where was Ana born?\tLima\nWhere was Ωlga born?\tLima\n".encode(),
        "strange_inputs.tsv": "Where was Ωlga born?\n".encode(),
        "long.tsv": b"Where was " + b"Ana " * 30 + b"born?\tLima\n",
        "long_inputs.tsv": b"Where was " + b"Ana " * 30 + b"born?\n",
        "text.params": b"no parameters\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for variant in VARIANTS:
        source = trained / f"{variant}.finetune.params"
        (tmp_path / f"{variant}.params").write_bytes(source.read_bytes())


FINE = "finetune vanilla wiki.txt --writing_params_path w --finetune_corpus_path"
EVAL = "evaluate vanilla wiki.txt --outputs_path out --eval_corpus_path birth_dev.tsv"
BAD_INPUT = {
    "unknown function": PRE.replace("pretrain", "train"),
    "unknown variant": PRE.replace("vanilla", "linear"),
    "missing option": "pretrain vanilla wiki.txt",
    "unknown recipe": f"{PRE} --recipe quick",
    "no such device": f"{PRE} --device cuda",
    "missing corpus": PRE.replace("wiki.txt", "wikki.txt"),
    "corpus not UTF-8": PRE.replace("wiki.txt", "latin1.txt"),
    "empty corpus": PRE.replace("wiki.txt", "empty.txt"),
    "reserved character": PRE.replace("wiki.txt", "special.txt"),
    "folder missing": PRE.replace("path w", "path no/w"),
    "onto the data set": f"{EVAL} --reading_params_path vanilla.params".replace(
        "path out", "path {data}/x.txt"
    ),
    "parameters onto the data set": PRE.replace("path w", "path {data}/wiki.txt"),
    "onto a corpus": PRE.replace("wiki.txt", "./special.txt").replace("path w", "path special.txt"),
    "onto the parameters": f"{EVAL} --reading_params_path vanilla.params".replace(
        "path out", "path vanilla.params"
    ),
    "onto the second parameters": (
        "inspect vanilla wiki.txt --reading_params_path vanilla.params --outputs_path rope.params "
        "--second_variant rope --second_params_path rope.params"
    ),
    "no tab": f"{FINE} no_tab.tsv",
    "no places": f"{FINE} birth_test_inputs.tsv",
    "unknown character": f"{FINE} strange.tsv",
    "too long": f"{FINE} long.tsv",
    "missing parameters": f"{EVAL} --reading_params_path no.params",
    "no parameters": f"{EVAL} --reading_params_path text.params",
    "other variant": f"{EVAL} --reading_params_path synthesizer.params",
    "parameters of rope": f"{EVAL} --reading_params_path rope.params",
    "other size": f"{EVAL} --reading_params_path vanilla.params --recipe smoke",
    "other variant, finetuning": f"{FINE} birth_places_train.tsv "
    "--reading_params_path synthesizer.params",
    "unknown character, evaluating": f"{EVAL} --reading_params_path vanilla.params".replace(
        "birth_dev", "strange_inputs"
    ),
    "too long, evaluating": f"{EVAL} --reading_params_path vanilla.params".replace(
        "birth_dev", "long_inputs"
    ),
}
SEEDS = ("", "-1", "4294967296", "٣", "1 2", "x" * 10_000)


def test_bad_input_is_one_clear_line_and_leaves_nothing(
    run, root, trained, tmp_path, modules, monkeypatch
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)  # for "no such device"
    monkeypatch.setattr("sys.argv", ["run.py"])
    bad_files(tmp_path, trained)
    found = {}

    def refused(title: str, command: str) -> None:
        before = set(tmp_path.iterdir())
        code, _, errors = run(command)
        assert code == 2 and "Traceback" not in errors, title
        last = [line for line in errors.splitlines() if not line.startswith("Warning")][-1]
        # Words of torch, and of Python.
        last = re.sub(r"(torch\.load|\(choose from).*", r"\1...", last)
        found[title] = re.sub(r"(test_run\.py):\d+", r"\1:LINE", last)
        assert set(tmp_path.iterdir()) == before, title

    for title, command in BAD_INPUT.items():
        refused(title, command.replace("{data}", f"{root}/src/data"))
    for number, text in enumerate(SEEDS):
        (tmp_path / "training_seed.txt").write_text(text, encoding="utf-8")
        refused(f"a file that is no seed, {number}", PRETRAIN)
    (tmp_path / "training_seed.txt").unlink()
    recipes = root / "src" / "edition.json"
    content = recipes.read_bytes()
    recipes.unlink()
    try:
        refused("no recipes", PRE)
    finally:
        recipes.write_bytes(content)

    def unwritten(*arguments, **keywords):
        raise NotImplementedError("[pretraining] is yours to write")

    with monkeypatch.context() as patch:
        patch.setattr(modules[1], "pretrain", unwritten)
        refused("a part not written yet", PRE)
        patch.setattr("os.access", lambda *_: False)  # no folder is read-only for root
        refused("a read-only folder", PRE)
    monkeypatch.delattr(modules[1], "initialize_rope_model")
    refused("a helper of an earlier year", PRETRAIN.replace("vanilla", "rope"))
    check("run_refused", found, {str(root): "A5", str(tmp_path): "HERE"})


def test_what_the_printing_commands_say(root, modules, monkeypatch, capsys):
    found = {}
    for command in ("dataset.py namedata", "dataset.py charcorruption", "london_baseline.py"):
        name, *arguments = command.split()
        assert importlib.import_module(name.removesuffix(".py")).main(arguments) == 0
        found[command] = capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["command.py"])
    baseline = importlib.import_module("london_baseline")

    def refused(title: str, main, *arguments: str) -> None:
        try:
            code = main([*arguments])
        except SystemExit as ended:
            code = ended.code
        assert code == 2
        *_, found[title] = capsys.readouterr().err.splitlines()

    def unwritten(path):
        raise NotImplementedError("[no pretraining] london_baseline is yours to write")

    refused("an unknown kind", importlib.import_module("dataset").main, "names")
    refused("no such file", baseline.main, "other.tsv")
    monkeypatch.setattr(baseline, "london_baseline", unwritten)
    refused("unwritten", baseline.main)
    found["unwritten"] = re.sub(r"\.py:\d+", ".py:LINE", found["unwritten"])
    found["an unknown kind"] = found["an unknown kind"].partition("(choose")[0]  # Python's words
    check("printing_commands", found, {str(root): "A5"})
