"""`compare`: both variants take equally many steps, at one pace, and are asked about the same."""

from types import SimpleNamespace

import pytest
import torch

ANSWERS = {("vanilla", 3): "1101", ("vanilla", 4): "1111", ("rope", 3): "1000", ("rope", 4): "1100"}
EPOCHS = {"vanilla": 6, "rope": 10}  # of the recipe


class Untrained:
    """A Trainer that takes two steps an epoch, without learning anything."""

    def __init__(self, variant, seed):
        self.config = SimpleNamespace(max_epochs=EPOCHS[variant], dtype=None, threads=None)
        self.model, self.history, self.pace = torch.nn.Linear(2, seed), [], None
        self.model.made = variant, seed

    def train(self):
        dtype = self.config.dtype or f"fastest of {self.model.made}"
        self.pace = SimpleNamespace(dtype=dtype, threads=self.config.threads or 2)
        self.history += [1.0] * 2 * self.config.max_epochs


def test_variants_take_equal_steps_at_one_pace_and_differ_person_by_person(lab):
    made = []

    def prepare(*given):
        made.append(Untrained(*given))
        return made[-1]

    def ask(model):
        return [answer == "1" for answer in ANSWERS[model.made]]

    results = list(lab.compare.train_all(["vanilla", "rope"], [3, 4], prepare, ask))
    assert [each.steps for each in results] == [12] * 4
    assert {each.pace.dtype for each in made} == {"fastest of ('vanilla', 3)"}
    assert [each.parameters for each in results] == [9, 9, 12, 12]
    (table, below), picture = lab.compare.report(results)
    rope = table.splitlines()[-1]
    assert rope.split()[:4] == ["rope", "4", "12", "12"] and rope.endswith("0.50 ± 0.29")
    # Person by person, the differences are 0, -.5, -.5 and -1.
    assert below.startswith("rope minus vanilla") and below.endswith(": -0.50 ± 0.20")
    assert "After 12 steps" in picture


@pytest.mark.parametrize(
    "words, says",
    [("", "compare needs --second_variant"), ("--second_variant vanilla", "got vanilla twice")],
)
def test_two_different_variants_are_needed(run, words, says):
    code, _, errors = run(f"compare vanilla wiki.txt {words}")
    assert code == 2 and says in errors
