"""trainer.py and optimizers.py: what is trained, with which optimizer, at which rate."""

import pytest
import torch

from tests.laid_out import VARIANTS


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_each_parameter_has_one_optimizer_and_matrices_alone_decay(
    submission, build, optimizer, variant
):
    s, (_, model) = submission, build(variant)
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


def test_learning_rates_follow_the_schedule(submission):
    for settings, tokens, factor in RATES:
        settings = {"lr_decay": True, "warmup_tokens": 100} | settings
        config = submission.trainer.TrainerConfig(**settings)
        found = submission.optimizers.learning_rate_factor(tokens, 1100, config)
        assert found == pytest.approx(factor), (settings, tokens)


def test_tokens_count_padding_too_and_learning_rates_are_at_nothing_after_the_last_step(train):
    trainer = train(max_epochs=2, lr_decay=True, warmup_tokens=0, schedule="linear")
    assert trainer.tokens == 2 * len(trainer.train_dataset) * 64
    assert trainer.optimizers[0].param_groups[0]["lr"] == 0.0


def test_the_best_parameters_on_the_test_set_are_kept(train, tmp_path):
    trainer = train(is_tested=True, ckpt_path=str(tmp_path / "best"))
    kept = torch.load(tmp_path / "best", weights_only=True)
    assert kept.keys() == trainer.model.state_dict().keys()
