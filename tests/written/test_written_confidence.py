"""The written solutions: the numbers that they quote about a trained model are right."""

import json
import shutil

import numpy as np
import pytest
import torch

from tests.laid_out import imported
from tests.written.conftest import columns


@pytest.fixture
def confidence(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "solutions" / "written"))
    import confidence

    return confidence


@pytest.fixture(scope="module")
def of_trained(with_trained):
    return json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))


def test_accuracies_are_those_of_the_predictions(of_trained, trained):
    found = of_trained["accuracy"]
    dev = (trained / "src/data/birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    london = sum(line.endswith("\tLondon") for line in dev)
    assert len(dev) == 20 and london == 4  # the smoke world
    of_models = {"no_pretraining": 0.05, "pretraining": 0.35, "synthesizer": 0.2, "rope": 0.25}
    assert found == of_models | {"london": 0.2}


def test_confidence_is_that_of_evaluate(of_trained, with_trained, trained):
    found = of_trained["confidence"]
    with imported(trained / "src", "inputs") as lab:
        questions, _ = lab.utils.read_places(trained / "src/data/birth_unseen_inputs.tsv")
        fields = lab.recipes.load_recipe().model_of("vanilla")
        corpus = lab.inputs.read_corpus("wiki.txt", fields["block_size"])
        config = lab.model.GPTConfig(corpus.vocab_size, **fields)
        network = lab.inputs.build_model("vanilla", config, torch.device("cpu"))
        lab.inputs.load(network, str(trained / "vanilla.finetune.params"))
        predictions = lab.utils.predict_places(network, corpus, questions)
    probabilities = [prediction.probability for prediction in predictions]
    unseen = found["unseen"]
    assert unseen["count"] == len(questions) == 12
    assert unseen["median"] == pytest.approx(np.median(probabilities), abs=2e-4)
    quartiles = list(np.quantile(probabilities, [0.25, 0.75]))
    assert unseen["quartiles"] == pytest.approx(quartiles, abs=2e-4)
    assert max(probabilities) > 1e-3  # otherwise, rounding would hide everything
    assert found["right"] is None or found["wrong"]["count"] + found["right"]["count"] == 20
    plotted = columns(with_trained / "confidence.dat")
    assert plotted["unseen"][:-1].sum() == pytest.approx(1, abs=1e-4)


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
