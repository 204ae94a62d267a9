"""The written solutions: the numbers that they quote about a trained model are right."""

import shutil

import numpy as np
import pytest

from tests.laid_out import read_model


@pytest.fixture
def confidence(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "solutions" / "written"))
    import confidence

    return confidence


def test_accuracies_are_those_of_the_predictions(of_trained, trained):
    found = of_trained["accuracy"]
    dev = (trained / "src/data/birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    london = sum(line.endswith("\tLondon") for line in dev)
    assert len(dev) == 20 and london == 4  # the smoke world
    of_models = {"no_pretraining": 0.05, "pretraining": 0.35, "synthesizer": 0.2, "rope": 0.25}
    assert found == of_models | {"london": 0.2}


def test_confidence_is_that_of_evaluate(of_trained, with_trained, trained, lab):
    found = of_trained["confidence"]
    questions, _ = lab.utils.read_places(trained / "src/data/birth_unseen_inputs.tsv")
    corpus, network = read_model(lab, trained / "vanilla.finetune.params")
    predictions = lab.utils.predict_places(network, corpus, questions)
    probabilities = [prediction.probability for prediction in predictions]
    unseen = found["unseen"]
    assert unseen["count"] == len(questions) == 12
    assert unseen["median"] == pytest.approx(np.median(probabilities), abs=2e-4)
    quartiles = list(np.quantile(probabilities, [0.25, 0.75]))
    assert unseen["quartiles"] == pytest.approx(quartiles, abs=2e-4)
    assert max(probabilities) > 1e-3  # otherwise, rounding would hide everything
    assert found["right"] is None or found["wrong"]["count"] + found["right"]["count"] == 20
    plotted = np.genfromtxt(with_trained / "confidence.dat", names=True)
    assert plotted["unseen"][:-1].sum() == pytest.approx(1, abs=1e-4)


def test_refusals_are_those_of_the_same_answers(of_trained, confidence):
    found = of_trained["confidence"]
    rows = found["refusals"]
    assert [row["threshold"] for row in rows] == list(confidence.THRESHOLDS)
    assert (rows[0]["answered"], rows[0]["unseen"]) == (1, 1)
    right = found["right"]["count"] if found["right"] else 0
    assert rows[0]["accuracy"] == right / 20  # of dev
    half = next(row for row in rows if row["threshold"] == 0.5)
    assert half["unseen"] == pytest.approx(found["unseen"]["above_half"], abs=1e-3)
    assert 0 <= found["calibration_error"] <= 1


def test_cloze_numbers_are_those_of_the_command(of_trained, lab, trained):
    files = {"train": "birth_places_train.tsv", "dev": "birth_dev.tsv"}
    groups = {split: lab.people.people_in(file) for split, file in files.items()}
    corpus, network = read_model(lab, trained / "vanilla.pretrain.params")
    asked = list(lab.gaps.ask(network, corpus, groups))
    for row, (text, scores) in zip(of_trained["cloze"], asked, strict=True):
        shares = {
            name: round(score.right / score.total, 3) if score.total else None
            for name, score in scores.items()
        }
        assert row == {"text": text} | shares


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


def test_what_is_made_up_is_compared_with_the_finetuning_table(confidence):
    train = [(f"Where was A{i} B{i} born?", p) for i, p in enumerate(["Lima"] + 4 * ["Rome"])]
    dev = [("Where was Eva Falk born?", "Oslo")]
    answers = [("Rome", 0.5), ("Oslo", 0.5), ("Lma", 0.1), ("Rome", 0.2), ("Rome", 0)]
    found = confidence.made_up([f"Where was {x} Falk born?" for x in "CDEFG"], answers, train, dev)
    assert found["favourite"] == {"place": "Rome", "share": 0.6, "of_training": 0.8}
    assert (found["distinct"], found["of_training"]) == (3, 0.6)  # Oslo is dev's alone
    assert found["look_alikes"]["share"] == 0.2  # but dev's people count as namesakes


def test_how_often_a_right_answer_is_more_probable(confidence):
    assert confidence.overlap([0.9, 0.5], [0.5, 0.1]) == 0.875  # 3 above, 1 tie, of 4
    assert confidence.overlap([], [0.5]) is None


def test_examples_are_only_what_latex_sets_as_it_stands(confidence):
    names = ["Zoë Ok", *(f"Zoë A{special}" for special in "\\{}$&#^_~%")]
    rows = [(f"Where was {name} born?", "Łódź", "Oslo", 0.5) for name in names]
    assert [e["question"] for e in confidence.examples(rows)] == ["Where was Zoë Ok born?"]
