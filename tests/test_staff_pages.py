"""Pages about one upload, for staff: no code of it runs; and the model that staff give students."""

import json
import shutil
from types import SimpleNamespace

import pytest
import torch

from experiments import commands
from pretraining.recipes import load_recipe
from questions.span_corruption.items import expected_vocabulary
from submission.model import GPT, GPTConfig
from tests.classroom.contents import pack
from tests.interpreter import python
from tests.project import append
from tools import datafiles, experiments, staff_model, world

NEVER = "raise AssertionError('this code must never run')\n"
FILE = "submission/dataset.py"


@pytest.fixture
def upload(tree, tmp_path):
    """A student's upload with parameters, drawn at random, whose code can't be imported."""
    folder = tmp_path / "ada"
    shutil.copytree(tree / "src/submission", folder / "submission")
    shutil.copytree(tree / "solutions/submission", folder / "submission", dirs_exist_ok=True)
    corpus = (tree / "src/data/wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    config = GPTConfig(
        len(expected_vocabulary([corpus])), **load_recipe("smoke").model_of("vanilla")
    )
    for stage in ("pretrain", "finetune"):
        torch.save(GPT(config).state_dict(), folder / f"vanilla.{stage}.params")
    append(folder / FILE, NEVER)
    return folder


@pytest.fixture
def write(tree, tmp_path):
    """A function that runs a command on an upload: exit code, what it printed, and the page."""

    def run(command, upload, *words):
        target = tmp_path / "page.html"
        words = (str(upload), "--into", str(target), "--edition", "current", *words)
        ran = python(tree, "-m", f"tools.{command}", *words)
        page = target.read_text(encoding="utf-8") if target.exists() else ""
        return ran.returncode, ran.stdout + ran.stderr, page

    return run


def noted(parameters):
    predictions = {"prediction": "I <b>expect</b> no effect at all", "earlier_predictions": []}
    return predictions | {"seed": 0, "parameters": parameters, "results": ["a made-up table"]}


def test_experiments_are_repeated_with_the_parameters_that_they_are_of(upload, write, tmp_path):
    own = commands.digest(torch.load(upload / "vanilla.finetune.params", weights_only=True))
    content = {"ablate": noted(own), "reverse": noted("0" * 64), "induction": noted(None)}
    (upload / commands.FILE).write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "6c.csv").write_text("points,description,kind\n1,A claim,criterion\n", "utf-8")
    code, printed, page = write("experiments", upload, "--rubrics", str(tmp_path))
    assert (code, printed) == (0, f"{tmp_path / 'page.html'}: 3 experiments\n")
    ablate, reverse, induction = page.split("<section")[1:]
    assert "I &lt;b&gt;expect&lt;/b&gt; no effect" in ablate and "<dd>A claim</dd>" in ablate
    assert "block 1 head 1" in ablate and "<mark>" in ablate and "Nothing differs" not in ablate
    assert "with vanilla.finetune.params" in ablate
    assert "vanilla.pretrain.params: the results are of other parameters" in reverse
    assert "Not repeated: " in reverse and "<mark>" not in reverse
    assert "It trains models of its own" in induction and "A claim" not in induction


def test_results_of_the_staffs_model_are_recognised(tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "REPO", tmp_path)
    case = SimpleNamespace(
        staged=SimpleNamespace(path=lambda name: None),
        run=SimpleNamespace(assignment=SimpleNamespace(variants=["vanilla"])),
    )
    state = {"weight": torch.randn(3, 4)}
    path = tmp_path / staff_model.TARGET / "vanilla.finetune.params"
    path.parent.mkdir(parents=True)
    torch.save({name: tensor.half() for name, tensor in state.items()}, path)
    for weights, said in ((state, "are of the staff's model"), ({}, "no parameters were uploaded")):
        results = noted(commands.digest(weights))
        assert said in experiments.repeat(case, "trace", results).note


@pytest.mark.parametrize("content", [None, b'{"trace": {"seed": NaN}}'])
def test_an_upload_without_experiments_is_one_line(upload, write, content):
    if content is not None:
        (upload / commands.FILE).write_bytes(content)
    code, printed, page = write("experiments", upload)
    assert (code, page, printed.count("\n")) == (2, "", 1)
    assert "has no experiments.json" in printed
    assert ("not as run.py writes it" in printed) is (content is not None)


def test_three_questions_are_about_the_students_own_work(upload, write, tmp_path):
    code, printed, page = write("viva", pack(upload))
    assert (code, printed) == (0, f"{tmp_path / 'page.html'}: 3 of 3 questions\n")
    line, answer, head = page.split("<h2>")[1:]
    assert "span = random.randint(0, len(truncated) // 2)" in line.partition("\n&gt; ")[2][:80]
    assert "vanilla.finetune.params answers" in answer and "training questions" in answer
    assert head.count("Worst by the people in ") >= 2


def test_what_is_missing_or_unreadable_gives_a_line_in_place_of_its_question(upload, write):
    (upload / FILE).write_bytes(b"class A:\n    def f(self:\n")
    (upload / "vanilla.finetune.params").unlink()
    code, printed, page = write("viva", upload)
    assert code == 0 and printed.endswith(": 0 of 3 questions\n")
    assert f"There is no question here: {FILE}:2 doesn&#39;t parse" in page
    assert page.count("There is no question here: finetuned parameters are missing.") == 2


# The staff's model, of another world than the course's ------------------------------------------

SPLITS = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS, datafiles.UNSEEN_INPUTS)


def test_nobody_is_in_its_world_and_in_the_courses(tmp_path):
    course = world.make_world(staff_model.FIRST_SEED)
    datafiles.write_all(tmp_path, course)
    other = staff_model.other_world(tmp_path, "world")
    people = [staff_model.questions([texts[name] for name in SPLITS]) for texts in (other, course)]
    assert [*map(len, people)] == [450, 450] and not people[0] & people[1]
