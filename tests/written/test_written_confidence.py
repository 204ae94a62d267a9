"""The written solutions: the numbers that they quote about a trained model are right."""

import json
import shutil

import pytest


@pytest.fixture
def confidence(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "solutions" / "written"))
    import confidence

    return confidence


def test_accuracies_are_those_of_the_predictions(with_trained, trained):
    found = json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))["accuracy"]
    dev = (trained / "src/data/birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    london = sum(line.endswith("\tLondon") for line in dev)
    assert len(dev) == 20 and london == 4  # the smoke world
    of_models = {"no_pretraining": 0.05, "pretraining": 0.35, "synthesizer": 0.2, "rope": 0.25}
    assert found == of_models | {"london": 0.2}


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("vanilla.finetune.params", None, "no such file"),
        ("vanilla.pretrain.dev.predictions", "Oslo\n", "got 1 lines, expected 20"),
    ],
)
def test_a_folder_that_is_not_trained_is_refused_in_a_line(
    trained, tmp_path, run_python, script, name, text, expected
):
    folder = shutil.copytree(trained, tmp_path / "trained")
    (folder / name).unlink()
    if text is not None:
        (folder / name).write_text(text, encoding="utf-8")
    done = run_python(script, tmp_path / "numbers", "--trained", folder)
    assert done.returncode == 2 and not (tmp_path / "numbers").exists()
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and name in line and expected in line


def test_namesakes_are_counted_against_chance(confidence):
    known = [("Where was Ana Ruiz born?", "Lima"), ("Where was Bo Falk born?", "Oslo")]
    asked = ["Where was Ana Berg born?", "Where was Eva Falk born?", "Where was Kim Ono born?"]
    # Right by name: Lima for the first, Oslo for the second, nothing for the third. Dealt at
    # random, Lima hits one of three people, Oslo one of three, Rome none: 2 of 9.
    answers = [("Lima", 0.9), ("Rome", 0.5), ("Oslo", 0.4)]
    found = confidence.look_alikes(asked, answers, known)
    assert found["share"] == 0.333 and found["by_chance"] == 0.222
    (example,) = found["examples"]
    assert example == {
        "question": asked[0],
        "namesake": "Ana Ruiz",
        "prediction": "Lima",
        "probability": 0.9,
    }


def test_examples_are_only_what_latex_sets_as_it_stands(confidence):
    names = ["Zoë Ok", *(f"Zoë A{special}" for special in "\\{}$&#^_~%")]
    rows = [(f"Where was {name} born?", "Łódź", "Oslo", 0.5) for name in names]
    assert [e["question"] for e in confidence.examples(rows)] == ["Where was Zoë Ok born?"]
