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


def train(s, model, examples, **settings):
    config = s.trainer.TrainerConfig(**{"max_epochs": 1, "batch_size": 4} | settings)
    trainer = s.trainer.Trainer(model, examples, None, config)
    trainer.train()
    return trainer


def examples(count=8):
    """Return pairs (x, y) with 6 used columns of 32."""
    pairs = []
    for _ in range(count):
        ids = torch.zeros(33, dtype=torch.long)
        ids[:7] = torch.randint(2, 20, (7,))
        pairs.append((ids[:-1], ids[1:]))
    return pairs


@pytest.mark.parametrize("last, length", [(0, 8), (7, 8), (8, 16), (16, 20), (19, 20)])
def test_trimming_cuts_columns_with_neither_input_nor_target(s, last, length):
    x, y = torch.zeros(2, 20, dtype=torch.long), torch.zeros(2, 20, dtype=torch.long)
    x[0, last // 2], y[1, last] = 5, 5
    tx, ty = s.fast.trim(x, y)  # to multiples of 8, of 20 columns
    assert torch.equal(tx, x[:, :length]) and torch.equal(ty, y[:, :length])


def test_tokens_count_padding_too(s):
    assert train(s, make_model(s), examples(8), max_epochs=3).tokens == 3 * 8 * 32


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.sampled(2)
def test_the_trainer_learns_a_few_examples_by_heart(s, optimizer):
    pairs = examples(8)
    model = s.model.GPT(s.model.GPTConfig(20, 32, 0.0, 0.0, 0.0, 2, 4, 16))
    train(s, model, pairs, max_epochs=100, learning_rate=1e-2, optimizer=optimizer)
    x, y = map(torch.stack, zip(*pairs, strict=True))
    # The first characters are a guess among 8 or so, and the six others can be known: below .5 nats
    # per character in total; an untrained model has log 20 = 3.
    assert model.eval()(x, y)[1] < 0.5


def test_the_same_seed_trains_the_same_model(s, corpus):
    found = []
    for seed in (1, 1, 2):
        s.utils.set_seed(seed)
        dataset = s.dataset.CharCorruptionDataset(corpus, 32)
        shape = {"n_layer": 1, "n_head": 2, "n_embd": 16}
        model = s.model.GPT(s.model.GPTConfig(dataset.vocab_size, 32, **shape))
        train(s, model, dataset, optimizer="muon", batch_size=32)
        found.append(model.head.weight.detach())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


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


@pytest.mark.parametrize(
    ("schedule", "tokens", "factor"),
    [
        ("linear", 50, 0.5),  # warming up
        ("linear", 100, 1.0),
        ("linear", 350, 0.75),
        ("linear", 1100, 0.0),
        ("cosine", 50, 0.5),
        ("cosine", 100, 1.0),
        ("cosine", 600, 0.5),
        ("cosine", 1100, 0.1),
        ("cosine", 2100, 1.0),  # the public course's cosine rises again
    ],
)
def test_learning_rates_follow_the_schedule(s, schedule, tokens, factor):
    config = s.trainer.TrainerConfig(lr_decay=True, warmup_tokens=100, schedule=schedule)
    found = s.optimizers.learning_rate_factor(tokens, 1100, config)
    assert found == pytest.approx(factor)


def test_the_schedule_ends_with_training_unless_told_otherwise(s):
    settings = {"lr_decay": True, "warmup_tokens": 0, "schedule": "linear"}
    others = ({}, 0.5), ({"final_tokens": 1024}, 0.75), ({"lr_decay": False}, 1.0)
    for other, factor in others:
        config = s.trainer.TrainerConfig(**settings | other)
        assert s.optimizers.learning_rate_factor(256, 512, config) == factor


def test_learning_rates_are_at_nothing_after_the_last_step(s):
    settings = {"max_epochs": 2, "lr_decay": True, "warmup_tokens": 0, "schedule": "linear"}
    trainer = train(s, make_model(s), examples(8), **settings)
    assert trainer.optimizers[0].param_groups[0]["lr"] == 0.0


def test_the_best_parameters_on_the_test_set_are_kept(s, tmp_path):
    path = tmp_path / "best"
    config = s.trainer.TrainerConfig(max_epochs=2, batch_size=4, ckpt_path=str(path))
    model = make_model(s)
    s.trainer.Trainer(model, examples(8), examples(4), config).train()
    assert set(torch.load(path, weights_only=True)) == set(model.state_dict())
