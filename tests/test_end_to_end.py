"""From start to finish on a fresh copy: world, training, full marks; other models' answers.

One training of the `smoke` recipe serves all tests here (conftest.py: `reference`).
"""

import json
import re
import shutil

import pytest

from tests.interpreter import python
from tests.project import ROOT, add_recipe, copy_of_the_project, make
from tools.commands import PIPELINES

ANSWERS = "solutions/data/birth_test.tsv"
SMOKE = ("--recipe", "smoke", "--threads", "1", "--dtype", "float32")


def test_the_demo_reaches_every_point(tree, reference):
    demo = make(tree, "demo", "RECIPE=smoke")  # nothing is left to train
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "Score 53 of 53" in demo.stdout
    result = json.loads((tree / "build" / "demo.json").read_text(encoding="utf-8"))
    assert {t["outcome"] for t in result["tests"]} == {"passed"}


@pytest.mark.long
def test_answers_from_a_text_search_earn_no_accuracy(tree, reference, tmp_path):
    """A model is finetuned from scratch on all questions, with what wiki.txt says of them.

    It comes with the reference's pretrained parameters, or with its own in their place.
    """
    searched = shutil.copytree(reference, tmp_path / "searched")
    tables = ("src/data/birth_places_train.tsv", "src/data/birth_dev.tsv", ANSWERS)
    rows = [(tree / name).read_text(encoding="utf-8") for name in tables]
    (searched / "found.tsv").write_text("".join(rows), encoding="utf-8")
    params = "vanilla.finetune.params"
    found = ("--finetune_corpus_path", "found.tsv", "--writing_params_path", params)
    commands = [("finetune", "vanilla", "wiki.txt", *found, *SMOKE)]
    for split, name in (("dev", "birth_dev.tsv"), ("test", "birth_test_inputs.tsv")):
        files = ("--reading_params_path", params, "--eval_corpus_path", name)
        files = (*files, "--outputs_path", f"vanilla.pretrain.{split}.predictions")
        commands.append(("evaluate", "vanilla", "wiki.txt", *files))
    for words in commands:
        ran = python(searched, "src/run.py", *words)
        assert ran.returncode == 0, ran.stderr
    pretrained = searched / "vanilla.pretrain.params"
    for content, words in (
        (pretrained.read_bytes(), "was not finetuned from vanilla.pretrain.params"),
        ((searched / params).read_bytes(), "does not fill masked spans"),
    ):
        pretrained.write_bytes(content)
        graded = python(tree, "src/grader.py", "--submission", str(searched), "1f")
        assert graded.stdout.count(words) >= 2
        outcomes = dict(re.findall(r"^(1f-\d)\S+ +(\w+)", graded.stdout, re.MULTILINE))
        assert outcomes["1f-2"] == outcomes["1f-4"] == "failed", graded.stdout
        assert outcomes["1f-5"] == "passed"  # the predictions are the parameters' own
    pretrained.unlink()
    missing = "vanilla.pretrain.params is missing; run.py pretrain"
    graded = python(tree, "src/grader.py", "--submission", str(searched), "1f-4-hidden")
    assert missing in graded.stdout
    older = ("--edition", "cs224n", "2f-4-hidden")
    graded = python(tree, "src/grader.py", "--submission", str(searched), *older)
    assert graded.returncode == 0, "cs224n doesn't ask for them"


def test_lines_or_parameters_of_another_model_cost_the_accuracy_and_are_named(
    tree, reference, tmp_path
):
    upload = shutil.copytree(reference, tmp_path / "upload")
    path = upload / "vanilla.pretrain.dev.predictions"
    lines = path.read_text(encoding="utf-8").splitlines()
    answers = (tree / "src" / "data" / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    places = [row.split("\t")[1] for row in answers]
    wrong = [i for i, line in enumerate(lines) if line != places[i]]
    right = [i for i, line in enumerate(lines) if line == places[i]]
    for i in (wrong + right)[:3]:
        lines[i] = places[i] if i in wrong else "Nowhere"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    graded = python(tree, "src/grader.py", "--submission", str(upload), "1(F)")
    outcomes = dict(re.findall(r"^(1f-\d)\S+ +(\w+)", graded.stdout, re.MULTILINE))
    assert (outcomes["1f-2"], outcomes["1f-4"], outcomes["1f-5"]) == ("failed", "passed", "failed")
    assert "differ from the answers that the parameters give" in graded.stdout
    shutil.copy2(upload / "synthesizer.finetune.params", upload / "vanilla.finetune.params")
    graded = python(tree, "src/grader.py", "--submission", str(upload), "1f-5-hidden")
    misfit = r"does not fit the vanilla model: blocks\.0\.attn\.\S+ is missing"
    assert graded.returncode == 1 and re.search(misfit, graded.stdout)


@pytest.mark.long
def test_course_files_install_and_the_public_commands_run_on_them(tree, tmp_path):
    """Use the real data if they are beside the project, else files of the same form."""
    shared = ROOT.parent / "shared" / "data"
    source = shared if shared.is_dir() else tree / "src" / "data"
    course = copy_of_the_project(tmp_path / "course")
    made = make(course, "data", f"SOURCE={source}")
    assert made.returncode == 0, made.stderr
    shutil.copytree(
        ROOT / "solutions" / "submission", course / "src" / "submission", dirs_exist_ok=True
    )
    for words in ("namedata", "charcorruption"):
        assert python(course, "src/dataset.py", words).returncode == 0
    london = python(course, "src/london_baseline.py")
    assert "percent" in london.stdout, london.stderr
    # Train for seconds, learning nothing, to check the course's long lines and odd letters.
    add_recipe(course, "quick", max_epochs=1, block_size=128)
    for command in PIPELINES["vanilla"]:
        ran = python(course, *command.arguments, "--recipe", "quick")
        assert ran.returncode == 0, ran.stderr
        assert (course / command.writes).is_file()
