"""From start to finish on a fresh copy: world, training, full marks; the starter earns 0.

One training of the `smoke` recipe serves all tests here (conftest.py: `reference`).
"""

import json
import os
import re
import shutil
import zipfile

import pytest

from tests.interpreter import python
from tests.laid_out import TINY
from tests.project import ROOT, copy_of_the_project, make
from tests.student.folder import students_copy
from tools.commands import PIPELINES

ANSWERS = "solutions/data/birth_test.tsv"
SMOKE = ("--recipe", "smoke", "--threads", "1", "--dtype", "float32")
OUTPUTS = [c.writes for commands in PIPELINES.values() for c in commands]


def test_the_demo_reaches_every_point(tree, reference):
    demo = make(tree, "demo", "RECIPE=smoke")  # nothing is left to train
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "Score 53 of 53" in demo.stdout
    result = json.loads((tree / "build" / "demo.json").read_text(encoding="utf-8"))
    assert {t["outcome"] for t in result["tests"]} == {"passed"}


def test_the_starter_earns_nothing_and_reads_no_traceback(tree):
    graded = make(tree, "grade", "ARGS=--json starter.json")
    assert "Error 1" in graded.stderr  # the grader's exit code, as make reports it
    assert "Traceback" not in graded.stdout
    result = json.loads((tree / "starter.json").read_text(encoding="utf-8"))
    earned = {t["test_id"]: t["score"] for t in result["tests"] if t["score"]}
    # The vocabulary is given and correct, so nothing has to be written for it.
    assert result["score"] == 0, earned
    for test in result["tests"]:
        assert "Traceback" not in test["message"]
        assert test["outcome"] in ("failed", "missing file", "passed"), test


def test_a_students_copy_grades_basic_tests_and_runs_hidden_ones(tree, reference, tmp_path):
    student = students_copy(tree, tmp_path / "a5")
    trained = tree / "build" / "reference"
    shutil.copytree(
        trained / "src" / "submission", student / "src" / "submission", dirs_exist_ok=True
    )
    for name in OUTPUTS:
        shutil.copy2(trained / name, student / name)
    # A package that is called like staff's part of the harness changes nothing.
    (tmp_path / "installed" / "autograder").mkdir(parents=True)
    package = tmp_path / "installed" / "autograder" / "__init__.py"
    package.write_text("raise SystemExit('another package')\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    options = ("1f", "1g-4-basic", "3a", "--json", "../mine.json")  # a release runs all
    graded = python(student / "src", "grader.py", *options, env=environment)
    assert graded.returncode == 0, graded.stdout + graded.stderr
    result = json.loads((student / "mine.json").read_text(encoding="utf-8"))
    counted_later = [t for t in result["tests"] if "counts once you submit" in t["message"]]
    assert [t["test_id"] for t in counted_later] == ["1f-2-basic", "1g-4-basic"]
    ran = [t for t in result["tests"] if {t["test_id"], t["test_id"][:2]} & {*options}]
    outcomes = {(t["kind"], t["outcome"]) for t in ran if t not in counted_later}
    assert outcomes == {("basic", "passed"), ("hidden", "ran, not graded")}
    assert "for staff" not in graded.stdout


@pytest.mark.long
def test_a_zip_of_what_is_handed_in_earns_full_marks(tree, reference, tmp_path):
    trained = tree / "build" / "reference"
    archive = tmp_path / "assignment5.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        for path in sorted((trained / "src" / "submission").glob("*.py")):
            writer.write(path, f"submission/{path.name}")
        for name in OUTPUTS:
            writer.write(trained / name, name)
    options = ("--submission", str(archive), "--json", "zip.json", "--seed", "7")
    graded = python(tree, "src/grader.py", *options)
    assert graded.returncode == 0, graded.stdout
    assert json.loads((tree / "zip.json").read_text(encoding="utf-8"))["score"] == 53


@pytest.fixture(scope="module")
def searched(tree, reference, tmp_path_factory):
    """Answers from a text search of wiki.txt: a model finetuned from scratch on all questions."""
    upload = tmp_path_factory.mktemp("searched") / "upload"
    shutil.copytree(tree / "build" / "reference", upload)
    rows = [(tree / "src/data" / f"birth_{name}.tsv") for name in ("places_train", "dev")]
    rows = [path.read_text(encoding="utf-8") for path in (*rows, tree / ANSWERS)]
    (upload / "found.tsv").write_text("".join(rows), encoding="utf-8")
    params = "vanilla.finetune.params"
    found = ("--finetune_corpus_path", "found.tsv", "--writing_params_path", params)
    ran = python(upload, "src/run.py", "finetune", "vanilla", "wiki.txt", *found, *SMOKE)
    assert ran.returncode == 0, ran.stderr
    for split, name in (("dev", "birth_dev.tsv"), ("test", "birth_test_inputs.tsv")):
        asked = ("--reading_params_path", params, "--eval_corpus_path", name)
        wanted = ("--outputs_path", f"vanilla.pretrain.{split}.predictions")
        ran = python(upload, "src/run.py", "evaluate", "vanilla", "wiki.txt", *asked, *wanted)
        assert ran.returncode == 0, ran.stderr
    return upload


@pytest.mark.long
def test_what_was_searched_for_earns_no_accuracy(tree, searched):
    """It comes with the reference's pretrained parameters, or with its own in their place."""
    pretrained = searched / "vanilla.pretrain.params"
    kept = pretrained.read_bytes()
    itself = (searched / "vanilla.finetune.params").read_bytes()
    for content, words in (
        (kept, "was not finetuned from vanilla.pretrain.params"),
        (itself, "does not fill masked spans"),
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
    upload = tmp_path / "upload"
    shutil.copytree(tree / "build" / "reference", upload)
    path = upload / "vanilla.pretrain.dev.predictions"
    lines = path.read_text(encoding="utf-8").splitlines()
    answers = (tree / "src" / "data" / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    places = [row.split("\t")[1] for row in answers]
    wrong = [i for i, line in enumerate(lines) if line != places[i]]
    right = [i for i, line in enumerate(lines) if line == places[i]]
    for i in (wrong + right)[:3]:
        lines[i] = places[i] if i in wrong else "Nowhere"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    graded = python(tree, "src/grader.py", "--submission", str(upload), "1f")
    outcomes = dict(re.findall(r"^(1f-\d)\S+ +(\w+)", graded.stdout, re.MULTILINE))
    assert (outcomes["1f-2"], outcomes["1f-4"], outcomes["1f-5"]) == ("failed", "passed", "failed")
    assert "differ from the answers that the parameters give" in graded.stdout
    shutil.copy2(upload / "synthesizer.finetune.params", upload / "vanilla.finetune.params")
    graded = python(tree, "src/grader.py", "--submission", str(upload), "1f-5-hidden")
    misfit = r"does not fit the vanilla model: blocks\.0\.attn\.\S+ is missing"
    assert graded.returncode == 1 and re.search(misfit, graded.stdout)


def table_of(recipe: dict, name: str) -> str:
    """Return a recipe as a table of assignment.toml, whose values JSON writes in the same way."""
    tables = {key: value for key, value in recipe.items() if isinstance(value, dict)}
    lines = [f"{k} = {json.dumps(v)}" for k, v in recipe.items() if k not in tables]
    below = [table_of(table, f"{name}.{key}") for key, table in tables.items()]
    return "\n".join([f"\n[{name}]", *lines, *below])


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
    with open(course / "assignment.toml", "a", encoding="utf-8") as file:
        file.write(table_of(TINY | {"model": TINY["model"] | {"block_size": 128}}, "recipes.tiny"))
    for command in PIPELINES["vanilla"]:
        ran = python(course, *command.arguments, "--recipe", "tiny")
        assert ran.returncode == 0, ran.stderr
        assert (course / command.writes).is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--submission", "solutions", "3(A)", "1E-0"], 0, "3a-1-hidden"),
        (["--json", "/proc/r.json", "--submission", "solutions", "3a"], 2, "r.json: can't be "),
        (["--gradescope", "nowhere"], 2, "no folder results/"),
    ],
)
def test_the_commands_arguments(tree, arguments, code, words):
    ran = python(tree, "src/grader.py", *arguments)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert words in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
