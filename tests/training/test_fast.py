"""trainer.py, fast.py and optimizers.py: the same results as plain code, but faster."""

import pytest
import torch

from tests.laid_out import VARIANTS

LN = torch.nn.functional


def plain_gradients(model, x, y):
    """Return the gradients of the mean loss over targets, by definition."""
    model.zero_grad()
    logits = model(x)[0]
    wanted = y != 0
    LN.cross_entropy(logits[wanted], y[wanted]).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def difference(ours, theirs):
    """Return the distance between two lists of gradients, relative to the norm of the second."""
    total = sum(((a - b) ** 2).sum() for a, b in zip(ours, theirs, strict=True))
    return float((total / sum((b**2).sum() for b in theirs)).sqrt())


def randomize(model):
    """Randomise the parameters: as initialised, attention is nearly uniform and hides errors."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))


@pytest.mark.parametrize("kind", VARIANTS)
def test_gradients_are_those_of_the_plain_step(submission, build, batch, kind):
    # In float64: the two sum up 70 * 64 positions in different orders, which moves a sum by at
    # most 4,480 * 2**-53 = 5e-13 of its terms' sizes; a dozen layers stay below 1e-10.
    dataset, model = build(kind)
    model.double()
    randomize(model)
    x, y = batch(dataset)
    x[0, 3] = 0  # a gap inside
    y[1, -1] = 5  # a target at the very end, where there is no input
    x[2], y[2] = 0, 0
    y[2, 0] = 7  # a single token
    expected = plain_gradients(model, x, y)
    with submission.fast.Engine(model, submission.fast.Pace("float32", 4)) as engine:
        loss = engine.backward(x, y)
        again = engine.backward(x, y)
    got = [parameter.grad for parameter in model.parameters()]
    assert difference(got, expected) < 1e-10
    assert loss.item() == pytest.approx(model(x, y)[1].item(), rel=1e-10)
    assert again == loss  # nothing is left over from the first call


@pytest.mark.parametrize("kind", VARIANTS)
def test_bfloat16_gradients_are_within_its_rounding(submission, build, batch, kind):
    # bfloat16 keeps 8 bits: each rounding is 2**-9 = .002 of a value, and a gradient has gone
    # through some twenty of them, to and fro, which add up like a random walk: .009; no term
    # is rounded worse than twice that on average. Averages over tokens are more exact: .02 is twice
    # what they have. As torch's LayerNorm sums them up in bfloat16, they would be wrong by half.
    dataset, model = build(kind)
    randomize(model)
    x, y = batch(dataset, rows=200)
    with submission.fast.Engine(model, submission.fast.Pace("bfloat16", 1)) as engine:
        engine.backward(x, y)
    got = {name: parameter.grad.double() for name, parameter in model.named_parameters()}
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())
    expected = dict(zip(got, plain_gradients(model.double(), x, y), strict=True))
    assert difference([*got.values()], [*expected.values()]) < 0.04
    summed = [name for name in got if "emb" in name or "ln" in name]
    assert len(summed) >= 11
    for name in summed:
        assert difference([got[name]], [expected[name]]) < 0.02, name


def test_students_attention_may_have_constants_in_float32(submission, build, batch):
    class Own(submission.attention.SynthesizerAttention):
        def forward(self, x, layer_past=None):
            return super().forward(x @ torch.eye(x.size(-1)))

    dataset, model = build("synthesizer")
    randomize(model)
    for block in model.blocks:
        block.attn.__class__ = Own
    x, y = batch(dataset, rows=200)
    with submission.fast.Engine(model, submission.fast.Pace("bfloat16", 2)) as engine:
        engine.backward(x, y)
    got = [parameter.grad.clone() for parameter in model.parameters()]
    assert difference(got, plain_gradients(model, x, y)) < 0.04


def post_norm(block, x):
    x = block.ln1(x + block.attn(x))
    return block.ln2(x + block.mlp(x))


def test_what_a_student_changes_in_the_model_is_trained(submission, build, batch, monkeypatch):
    dataset, model = build()
    assert submission.fast.can_pack(model)  # as given, it is trained faster
    monkeypatch.setattr(submission.model.Block, "forward", post_norm)
    randomize(model)
    x, y = batch(dataset)
    with submission.fast.Engine(model, submission.fast.Pace()) as engine:
        loss = engine.backward(x, y)
    assert loss.item() == pytest.approx(model(x, y)[1].item(), rel=1e-4)


def test_a_subclass_stays_as_it_is_unless_it_says_so_itself(submission, build):
    _, model = build()
    attn = model.blocks[0].attn
    for promise, stays in (({}, True), ({"replaceable": True}, False)):
        attn.__class__ = own = type("Own", (submission.attention.CausalSelfAttention,), promise)
        assert (type(submission.fast.twin_of(model, None).blocks[0].attn) is own) is stays


def test_buffers_are_rounded_only_where_they_lose_nothing(submission, build):
    _, model = build()
    attn = model.blocks[0].attn
    attn.register_buffer("slopes", torch.tensor([1 / 3]), persistent=False)
    low = submission.fast.twin_of(model, torch.bfloat16).blocks[0].attn
    assert low.mask.dtype == torch.bfloat16
    assert torch.equal(low.slopes, attn.slopes)


# -- optimizers -----------------------------------------------------------------------------------


def test_muon_is_torchs(submission):
    # torch's rounds each product to bfloat16, 2**-9 = .002 of it; after 15 products in a row
    # that is .03 at worst, in each direction.
    torch.manual_seed(0)
    for shape in ((24, 24), (16, 64), (64, 16)):
        start = torch.randn(shape)
        ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
        options = {"lr": 0.01, "weight_decay": 0.1}
        pace = submission.fast.Pace("bfloat16", 2)
        muon = submission.optimizers.Muon([ours], pace=pace, **options)
        torchs = torch.optim.Muon([theirs], adjust_lr_fn="match_rms_adamw", **options)
        for _ in range(3):
            ours.grad = torch.randn(shape)
            theirs.grad = ours.grad.clone()
            muon.step()
            torchs.step()
        moved = (theirs - start).norm()
        assert (ours - theirs).norm() < 0.06 * moved


# -- the pace -------------------------------------------------------------------------------------

F, B = "float32", "bfloat16"
IDLE = {(F, 1): 1.0, (F, 2): 0.6, (F, 4): 0.4, (B, 1): 0.5, (B, 2): 0.3, (B, 4): 0.2}
# Invented seconds where they differ from IDLE's, and options; the pace.
PACES = {
    "the fastest of all": ({}, {}, (B, 4)),
    "a processor without bfloat16": ({(B, 1): 17.0}, {}, (F, 4)),
    "threads that wait for each other": ({(B, 2): 0.9, (B, 4): 2.0}, {}, (B, 1)),
    "a format and threads are given": ({}, {"dtype": F, "threads": 2}, (F, 2)),
    "a short training": ({}, {"steps": 5}, (F, 1)),
    "dropout or a GPU": ({}, {"most": 1}, (B, 1)),
}


def test_the_fastest_pace_is_chosen_by_timing_a_few(submission, monkeypatch):
    monkeypatch.setattr(submission.fast.os, "cpu_count", lambda: 8)
    for case, (others, options, expected) in PACES.items():
        seconds = IDLE | others
        given = {"steps": 10_000, "dtype": None, "threads": None, "most": 4} | options
        pace, step_s = submission.fast.fastest(
            lambda pace, rows, s=seconds: s[pace.dtype, pace.threads], rows=128, **given
        )
        assert (pace.dtype, pace.threads) == expected, case
        assert step_s == seconds[expected], case


def test_timing_leaves_no_trace(submission, train, monkeypatch):
    monkeypatch.setattr(submission.fast, "WORTH_S", 0.0)  # so that all is timed
    monkeypatch.setattr(submission.fast, "GAIN_OF_FORMAT", 1e9)  # but float32 is chosen,
    monkeypatch.setattr(submission.fast, "GAIN_OF_THREADS", 1e9)  # with one thread
    timed = train(dtype=None, threads=None).model.state_dict()
    pace = submission.fast.Pace("float32", 1)
    monkeypatch.setattr(submission.trainer, "choose_pace", lambda *_: (pace, 0.0))
    untimed = train().model.state_dict()
    assert all(torch.equal(timed[name], untimed[name]) for name in untimed)


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
