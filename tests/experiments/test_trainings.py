"""`wordings` and `compare`: who takes how many steps, at what pace, and is asked about what."""

from types import SimpleNamespace

import pytest
import torch

ANSWERS = {("vanilla", 3): "1101", ("vanilla", 4): "1111", ("rope", 3): "1000", ("rope", 4): "1100"}
EPOCHS = {"vanilla": 6, "rope": 10}  # of the recipe


class Untrained:
    """A Trainer that takes two steps an epoch, without learning anything."""

    def __init__(self, model):
        epochs = EPOCHS[model.made[0]]
        self.config = SimpleNamespace(max_epochs=epochs, batch_size=2, dtype=None, threads=None)
        self.model, self.history, self.pace = model, [], None

    def train(self):
        dtype = self.config.dtype or f"fastest of {self.model.made}"
        self.pace = SimpleNamespace(dtype=dtype, threads=self.config.threads or 2)
        self.history += [1.0] * 2 * self.config.max_epochs


@pytest.fixture
def made(lab, monkeypatch):
    """The trainers that were made, with the data that each was given; nothing is trained."""
    made = []

    def new_model(setting, variant, seed):
        model = torch.nn.Linear(2, seed)
        model.made = variant, seed
        return model

    def prepare(setting, function, dataset, block_size, model):
        trainer = Untrained(model)
        made.append(SimpleNamespace(trainer=trainer, dataset=dataset))
        return trainer

    def ask(setting, corpus, people, model):
        return [float(answer) for answer in ANSWERS[model.made]]

    monkeypatch.setattr(lab.trainings, "new_model", new_model)
    monkeypatch.setattr(lab.trainings, "trainer_of", prepare)
    monkeypatch.setattr(lab.trainings, "finetuned_answers", ask)
    return made


def test_variants_take_equal_steps_at_one_pace_and_differ_person_by_person(lab, made):
    args = SimpleNamespace(variant="vanilla", second_variant="rope", seed=3)
    args.finetune_corpus_path = args.eval_corpus_path = None
    setting = SimpleNamespace(args=args, dataset=SimpleNamespace(block_size=64))
    (table, below), picture = lab.trainings.run_compare(setting)
    assert {each.trainer.pace.dtype for each in made} == {"fastest of ('vanilla', 3)"}
    rows = [line.split() for line in table.splitlines()[1:]]
    # The model's layer has 2 inputs, and as many outputs as the seed.
    expected = [["3", "9", "12"], ["3", "9", "12"], ["4", "12", "12"], ["4", "12", "12"]]
    assert [row[1:4] for row in rows] == expected
    assert [row[0] for row in rows] == ["vanilla", "rope"] * 2
    assert rows[-1][-3:] == ["0.50", "±", "0.29"]
    # Person by person, the differences are 0, -.5, -.5 and -1.
    assert below.startswith("rope minus vanilla") and below.endswith(": -0.50 ± 0.20")
    assert "After 12 steps" in picture


def test_one_wording_of_each_person_is_kept_and_all_steps_are_made_up_for(lab, made, monkeypatch):
    lines = [f"Ada {verb} Rome" for verb in ("left", "saw", "knew", "liked")]
    lines += [f"Bo {verb} Oslo" for verb in ("saw", "knew", "liked", "left")]
    dataset = lab.dataset.CharCorruptionDataset("\n".join([*lines, "no one", "is here"]), 64)
    monkeypatch.setattr(lab.trainings, "fill", lambda *given: ([1.0, 0.0], [1.0, 2.0]))
    args = SimpleNamespace(variant="vanilla", seed=3)
    setting = SimpleNamespace(args=args, dataset=dataset)
    learnt = lab.trainings.learn(setting, None, ["Ada", "Bo"], [], wordings=1, factor=2)
    (one,) = made
    assert one.dataset.data == [lines[0], lines[4], "no one", "is here"]
    assert one.dataset.stoi == dataset.stoi and len(dataset.data) == 10
    # Both sentences in other words are about one person.
    assert (learnt.unseen, learnt.unseen_nats) == ([0.5], [1.5])
    # Twice the 6 epochs of 5 batches, with 2 batches an epoch.
    assert (learnt.steps, one.trainer.config.max_epochs) == (60, 30)
