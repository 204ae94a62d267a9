"""From start to finish on a fresh copy: world, training, full marks; other models' answers.

One training of the `smoke` recipe serves all tests here (conftest.py: `reference`).
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.interpreter import python
from tests.project import make

ANSWERS = "solutions/data/birth_test.tsv"
SMOKE = ("--recipe", "smoke", "--threads", "1", "--dtype", "float32")
# What the judges of trained files say, by assertion (see tests/mutants.py).
TRAINING = "solutions/hidden/training.py:no_pretraining_remembers_training"
EVIDENCE, FILES = "solutions/hidden/evidence.py", "src/questions/shared/models.py:OutputsCase"
SAID = {
    f"{TRAINING}: finetuned-parameters.training-questions": "doesn't remember the questions",
    f"{EVIDENCE}:expect_match: predictions.not-of-parameters": "differ from the answers that the",
    f"{EVIDENCE}:expect_own_answers: found.id": "was not finetuned from vanilla.pretrain.params",
    f"{EVIDENCE}:expect_accuracy: test-predictions.too-few-right": "too few right answers on the",
    f"{FILES}.expect_accuracy: id": "dev.predictions has too few right answers",
    f"{FILES}.fitting: parameters.misfit": "does not fit the vanilla model: blocks.0.attn.",
}


def expect_failures(tree: Path, upload: Path, questions: str, expected: dict[str, str]) -> None:
    """Grade questions, of which these tests should fail, and say this; all others pass."""
    ran = python(tree, "src/grader.py", "--submission", str(upload), *questions.split())
    said = re.findall(r"^(\d\w-\d)\S+ +(?!passed)\w+ .*\n +(.*)", ran.stdout, re.MULTILINE)
    assert ran.returncode == bool(expected), ran.stdout + ran.stderr
    assert [test for test, _ in said] == [*expected], ran.stdout
    assert [line for test, line in said if expected[test] not in line] == []


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
        # The predictions are the parameters' own: 1f-5 passes.
        expect_failures(tree, searched, "1f", dict.fromkeys(("1f-2", "1f-4"), words))
    pretrained.unlink()
    missing = "vanilla.pretrain.params is missing; run.py pretrain"
    expect_failures(tree, searched, "1f-4-hidden", {"1f-4": missing})
    expect_failures(tree, searched, "--edition cs224n 2f-4-hidden", {})  # which doesn't ask for it


def test_what_is_not_a_trained_models_costs_its_points_and_is_named(tree, reference, tmp_path):
    """Files of another model, lines that it doesn't give, and a model that knows nothing."""
    upload = shutil.copytree(reference, tmp_path / "upload")
    dev, test = (upload / f"vanilla.pretrain.{split}.predictions" for split in ("dev", "test"))
    lines = dev.read_text(encoding="utf-8").splitlines()
    answers = (tree / "src" / "data" / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    places = [row.split("\t")[1] for row in answers]
    wrong = [i for i, line in enumerate(lines) if line != places[i]]
    right = [i for i, line in enumerate(lines) if line == places[i]]
    for i in (wrong + right)[:3]:
        lines[i] = places[i] if i in wrong else "Nowhere"
    dev.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    pretrained, scratch = upload / "vanilla.pretrain.params", upload / "vanilla.model.params"
    shutil.copy2(scratch, pretrained)
    differ = SAID[f"{EVIDENCE}:expect_match: predictions.not-of-parameters"]
    other = SAID[f"{EVIDENCE}:expect_own_answers: found.id"]
    expect_failures(tree, upload, "1(F)", {"1f-2": differ, "1f-4": other, "1f-5": differ})
    for path in (dev, test):
        path.write_text("Nowhere\n" * len(lines), encoding="utf-8")
    shutil.copy2(reference / "vanilla.pretrain.params", scratch)
    shutil.copy2(upload / "synthesizer.finetune.params", upload / "vanilla.finetune.params")
    expected = {
        "1d-4": SAID[f"{TRAINING}: finetuned-parameters.training-questions"],
        "1d-5": differ,
        "1f-2": SAID[f"{FILES}.expect_accuracy: id"],
        "1f-4": SAID[f"{EVIDENCE}:expect_accuracy: test-predictions.too-few-right"],
        "1f-5": SAID[f"{FILES}.fitting: parameters.misfit"],
    }
    expect_failures(tree, upload, "1d 1f", expected)
