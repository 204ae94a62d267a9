"""trainer.py and optimizers.py: what is trained, with which optimizer, at which rate."""

import random

import pytest
import torch

from tests.laid_out import VARIANTS, make_model


@pytest.fixture
def s(submission):
    """Return the modules, with the same random seed each time."""
    random.seed(0)
    torch.manual_seed(0)
    return submission


def train(s, model, test_examples=None, **settings):
    config = s.trainer.TrainerConfig(**{"max_epochs": 2, "batch_size": 4} | settings)
    trainer = s.trainer.Trainer(model, examples(8), test_examples, config)
    trainer.train()
    return trainer


def examples(count):
    """Return pairs (x, y) with 6 used columns of 32."""
    pairs = []
    for _ in range(count):
        ids = torch.zeros(33, dtype=torch.long)
        ids[:7] = torch.randint(2, 20, (7,))
        pairs.append((ids[:-1], ids[1:]))
    return pairs


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_each_parameter_has_one_optimizer_and_matrices_alone_decay(s, optimizer, variant):
    model = make_model(s, variant)
    config = s.trainer.TrainerConfig(optimizer=optimizer, weight_decay=0.25)
    owners = {id(p): [] for p in model.parameters()}
    for one in s.optimizers.build_optimizers(model, config, s.fast.Pace()):
        for group in one.param_groups:
            for p in group["params"]:
                owners[id(p)].append((type(one).__name__, group["weight_decay"]))
    for name, p in model.named_parameters():
        matrix = p.dim() == 2 and name != "tok_emb.weight"
        muon = optimizer == "muon" and matrix and name.startswith("blocks.")
        assert owners[id(p)] == [("Muon" if muon else "AdamW", 0.25 if matrix else 0.0)], name


# The settings, tokens of 1,100, and the factor of learning rates.
RATES = [
    ({"schedule": "linear"}, 50, 0.5),  # warming up
    ({"schedule": "linear"}, 100, 1.0),
    ({"schedule": "linear"}, 350, 0.75),
    ({"schedule": "linear"}, 1100, 0.0),
    ({"schedule": "linear", "final_tokens": 2100}, 1100, 0.5),
    ({"schedule": "linear", "lr_decay": False}, 600, 1.0),
    ({"schedule": "cosine"}, 600, 0.5),
    ({"schedule": "cosine"}, 1100, 0.1),
    ({"schedule": "cosine"}, 2100, 1.0),  # the public course's cosine rises again
]


def test_learning_rates_follow_the_schedule(s):
    for settings, tokens, factor in RATES:
        config = s.trainer.TrainerConfig(**{"lr_decay": True, "warmup_tokens": 100} | settings)
        found = s.optimizers.learning_rate_factor(tokens, 1100, config)
        assert found == pytest.approx(factor), (settings, tokens)


def test_tokens_count_padding_too_and_learning_rates_are_at_nothing_after_the_last_step(s):
    trainer = train(s, make_model(s), lr_decay=True, warmup_tokens=0, schedule="linear")
    assert trainer.tokens == 2 * 8 * 32
    assert trainer.optimizers[0].param_groups[0]["lr"] == 0.0


def test_the_best_parameters_on_the_test_set_are_kept(s, tmp_path):
    model, path = make_model(s), tmp_path / "best"
    train(s, model, examples(4), ckpt_path=str(path))
    assert set(torch.load(path, weights_only=True)) == set(model.state_dict())
