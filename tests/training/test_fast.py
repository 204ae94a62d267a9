"""fast.py, optimizers.py and pace.py: the same results as plain code, but faster."""

import os
import textwrap

import pytest
import torch

from tests.laid_out import VARIANTS
from tests.variants import all_variants

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
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_gradients_are_those_of_the_plain_step(submission, build, batch, kind, threads):
    # In float64: the two sum up 70 * 64 positions in different orders, which moves a sum by at
    # most 4,480 * 2**-53 = 5e-13 of its terms' sizes; a dozen layers stay below 1e-10.
    dataset, model = build(kind)
    model.double()
    randomize(model)
    x, y = batch(dataset)
    expected = plain_gradients(model, x, y)
    with submission.fast.Engine(model, submission.fast.Pace("float32", threads)) as engine:
        loss = engine.backward(x, y)
        again = engine.backward(x, y)
    got = [parameter.grad for parameter in model.parameters()]
    assert difference(got, expected) < 1e-10
    assert loss.item() == pytest.approx(model(x, y)[1].item(), rel=1e-10)
    assert again == loss  # nothing is left over from the first call


@pytest.mark.parametrize("kind", VARIANTS)
def test_float32_gradients_are_within_rounding(submission, build, batch, kind):
    # Rounding in float32 is 2**-24 = 6e-8 per operation. Errors of 4,480 summed positions through
    # two layers add up like a random walk: sqrt(4480) * 6e-8 = 4e-6, times some ten operations.
    dataset, model = build(kind)
    randomize(model)
    x, y = batch(dataset)
    with submission.fast.Engine(model, submission.fast.Pace("float32", 2)) as engine:
        engine.backward(x, y)
    got = [parameter.grad.double() for parameter in model.parameters()]
    expected = plain_gradients(model.double(), x, y)
    assert difference(got, expected) < 4e-5


@pytest.mark.parametrize("kind", VARIANTS)
def test_bfloat16_gradients_are_within_its_rounding(submission, build, batch, kind):
    # bfloat16 keeps 8 bits: each rounding is 2**-9 = .002 of a value, and a gradient has gone
    # through some twenty of them, to and fro, which add up like a random walk: .009; no term
    # is rounded worse than twice that on average. Without the sum in float32 it would be .1.
    dataset, model = build(kind)
    randomize(model)
    x, y = batch(dataset)
    with submission.fast.Engine(model, submission.fast.Pace("bfloat16", 1)) as engine:
        engine.backward(x, y)
    got = [parameter.grad.double() for parameter in model.parameters()]
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())
    assert difference(got, plain_gradients(model.double(), x, y)) < 0.04


RIGHT = [v for v in all_variants() if v.topic == "synthesizer" and v.is_right]


@pytest.mark.parametrize("variant", RIGHT, ids=lambda variant: variant.path.stem)
@pytest.mark.sampled(4)
def test_students_synthesizers_train_in_bfloat16(submission, build, batch, variant, module_of):
    # However they are written: constants often have a dtype other than that of their operands.
    dataset, model = build("synthesizer")
    theirs = module_of(variant, "attention")
    for block in model.blocks:
        config = model.config
        attn = theirs.SynthesizerAttention(config)
        state = {n: p for n, p in block.attn.state_dict().items() if n in attn.state_dict()}
        state = {n: p[..., : attn.state_dict()[n].size(-1)] for n, p in state.items()}
        attn.load_state_dict({**attn.state_dict(), **state}, strict=False)
        block.attn = attn
    x, y = batch(dataset)
    columns = min(block.attn.w2.size(-1) for block in model.blocks)
    x, y = x[:, :columns], y[:, :columns]
    with submission.fast.Engine(model, submission.fast.Pace("bfloat16", 2)) as engine:
        engine.backward(x, y)
    got = [parameter.grad.clone() for parameter in model.parameters()]
    assert difference(got, plain_gradients(model, x, y)) < 0.04


def test_features_of_the_head_are_the_models_own(submission, build, batch):
    dataset, model = build()
    x, _ = batch(dataset)
    assert torch.equal(model.head(model.features(x)), model(x)[0])


def test_a_model_without_features_trains_too(submission, build, batch):
    # An earlier year's model.py, for example. Some microbatches have no target at all.
    dataset, model = build()

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x, y):
            return self.inner(x, y)

    x, y = batch(dataset)
    y[((x != 0).sum(dim=1)).argsort()[:40]] = 0
    expected = plain_gradients(model.double(), x, y)
    with submission.fast.Engine(Wrapped(), submission.fast.Pace("float32", 2)) as engine:
        engine.backward(x, y)
    assert difference([parameter.grad for parameter in model.parameters()], expected) < 1e-10


@pytest.mark.parametrize("kind", ["vanilla", "rope"])
def test_the_fast_attention_is_the_same_function(submission, build, kind):
    _, model = build(kind)
    model.double()
    randomize(model)
    attn = model.blocks[0].attn
    x = torch.randn(3, 20, 32, dtype=torch.float64)
    expected = attn(x)
    fast = submission.fast.twin_of(attn, None)
    assert type(fast) is not type(attn)
    # Sums of at most 64 numbers near 1, in another order: 64 * 2**-53 = 7e-15, through three.
    torch.testing.assert_close(fast(x), expected, rtol=1e-12, atol=1e-12)


def test_angles_keep_their_digits_in_bfloat16(submission, build):
    # In bfloat16, the angle of position 63 would be off by up to a quarter.
    _, model = build("rope")
    fast = submission.fast.twin_of(model, torch.bfloat16).blocks[0].attn
    assert fast.query.weight.dtype == torch.bfloat16
    assert torch.equal(fast.rope_cache, model.blocks[0].attn.rope_cache)


@pytest.mark.parametrize("kind", VARIANTS)
def test_attention_that_does_not_say_so_stays_as_it_is(submission, build, kind, monkeypatch):
    """Such as an earlier year's, in which students wrote how queries and keys are rotated."""
    _, model = build(kind)
    own = type(model.blocks[0].attn)
    monkeypatch.delattr(own, "replaceable", raising=kind != "synthesizer")
    assert type(submission.fast.twin_of(model, None).blocks[0].attn) is own


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


def test_a_batch_without_targets_is_one_clear_line(submission, build, batch):
    dataset, model = build()
    x, y = batch(dataset)
    with (
        submission.fast.Engine(model, submission.fast.Pace()) as engine,
        pytest.raises(submission.errors.InputError, match="y is PAD .* everywhere"),
    ):
        engine.backward(x, torch.zeros_like(y))


def test_threads_are_as_before_when_the_engine_closes(submission, build):
    before = torch.get_num_threads()
    with submission.fast.Engine(build()[1], submission.fast.Pace("float32", 2)):
        pass
    assert torch.get_num_threads() == before


class TestOptimizers:
    def test_muon_is_torchs(self, submission):
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

    def test_adamw_is_torchs_bit_for_bit(self, submission):
        ends = []
        for kind in (submission.optimizers.AdamW, torch.optim.AdamW):
            torch.manual_seed(0)
            layer = torch.nn.Linear(7, 7)
            options = {"lr": 0.1, "betas": (0.9, 0.95), "weight_decay": 0.1, "fused": True}
            optimizer = kind(layer.parameters(), **options)
            for step in range(4):
                optimizer.zero_grad()
                layer(torch.randn(3, 7)).pow(2).sum().backward()
                optimizer.step()
                if step == 1:  # as a training that is resumed
                    saved = optimizer.state_dict()
                    optimizer = kind(layer.parameters(), **options)
                    optimizer.load_state_dict(saved)
            ends.append([p.detach().clone() for p in layer.parameters()])
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(*ends, strict=True))

    def test_no_optimizer_waits_for_torchs_compiler(self, run_python):
        """A command that trains would begin nearly a second later."""
        code = """
            import sys, torch
            from pretraining.fast import Pace
            from pretraining.optimizers import AdamW, Muon
            def train(weight, optimizer):
                for _ in range(2):
                    optimizer.zero_grad()
                    weight.pow(2).sum().backward()
                    optimizer.step()
                optimizer.load_state_dict(optimizer.state_dict())
            for make in (AdamW, lambda ps: Muon(ps, 0.1, 0.1, Pace())):
                weight = torch.nn.Parameter(torch.ones(4, 4))
                train(weight, make([weight]))
            assert "torch._dynamo" not in sys.modules
        """
        ran = run_python("-c", textwrap.dedent(code), env=os.environ | {"PYTHONPATH": "src"})
        assert ran.returncode == 0, ran.stderr

    def test_directions_are_nearly_orthogonal(self, submission):
        # The iteration takes each singular value to between .68 and 1.21 when it was above .01 of
        # the norm, which random matrices of these shapes hold.
        torch.manual_seed(0)
        for shape in ((5, 32, 128), (3, 128, 32)):
            values = torch.linalg.svdvals(submission.optimizers.orthogonalized(torch.randn(shape)))
            assert values.min() > 0.6 and values.max() < 1.3

    def test_an_unknown_optimizer_is_refused_by_name(self, submission, build):
        config = submission.trainer.TrainerConfig(optimizer="sgd")
        with pytest.raises(submission.errors.InputError, match="'sgd' is unknown"):
            submission.optimizers.build_optimizers(build()[1], config, submission.fast.Pace())


class TestPace:
    """pace.fastest with invented timings."""

    @pytest.fixture
    def choose(self, submission, monkeypatch):
        monkeypatch.setattr(submission.pace.os, "cpu_count", lambda: 8)

        def choose(seconds, steps=10_000, dtype=None, threads=None, most=4):
            asked = []

            def time_a_step(pace, rows):
                asked.append(pace)
                return seconds[pace.dtype, pace.threads]

            pace, step_s = submission.pace.fastest(time_a_step, steps, 128, dtype, threads, most)
            assert step_s == seconds[pace.dtype, pace.threads]
            return (pace.dtype, pace.threads), asked

        return choose

    F, B = "float32", "bfloat16"
    IDLE = {(F, 1): 1.0, (F, 2): 0.6, (F, 4): 0.4, (B, 1): 0.5, (B, 2): 0.3, (B, 4): 0.2}

    def test_the_fastest_of_all(self, choose):
        assert choose(self.IDLE)[0] == (self.B, 4)

    def test_a_processor_without_bfloat16(self, choose):
        slow = self.IDLE | {(self.B, 1): 17.0}
        chosen, asked = choose(slow)
        assert chosen == (self.F, 4)
        assert sum(pace.dtype == self.B for pace in asked) == 1

    def test_a_busy_machine_where_threads_wait_for_each_other(self, choose):
        assert choose(self.IDLE | {(self.B, 2): 0.9, (self.B, 4): 2.0})[0] == (self.B, 1)

    def test_a_small_gain_changes_nothing(self, choose):
        nearly = {key: 1.0 - 0.02 * key[1] for key in self.IDLE}
        assert choose(nearly)[0] == (self.F, 1)

    def test_what_was_asked_for_is_taken(self, choose):
        assert choose(self.IDLE, dtype=self.F)[0] == (self.F, 4)
        assert choose(self.IDLE, threads=2)[0] == (self.B, 2)
        assert choose(self.IDLE, dtype=self.F, threads=1)[0] == (self.F, 1)

    def test_short_trainings_are_not_worth_it(self, choose):
        chosen, asked = choose(self.IDLE, steps=5)
        assert chosen == (self.F, 1) and len(asked) == 1

    def test_dropout_or_a_gpu_allow_one_thread(self, choose):
        assert choose(self.IDLE, most=1)[0] == (self.B, 1)

    @pytest.mark.parametrize(
        "settings, message",
        [
            ({"dtype": "float16"}, "dtype 'float16' is unknown, expected one of: float32, bfl"),
            ({"threads": 0}, "got 0 threads, expected 1 to 4"),
            ({"threads": 9}, "got 9 threads, expected 1 to 4"),
        ],
    )
    def test_impossible_wishes_get_one_line(self, submission, build, settings, message):
        dataset, model = build()
        config = submission.trainer.TrainerConfig(max_epochs=1, **settings)
        with pytest.raises(submission.errors.InputError, match=message):
            submission.trainer.Trainer(model, dataset, None, config).train()

    def test_timing_leaves_no_trace(self, submission, build, monkeypatch):
        monkeypatch.setattr(submission.pace, "WORTH_S", 0.0)  # so that all is timed
        monkeypatch.setattr(submission.pace, "GAIN_OF_FORMAT", 1e9)  # but float32 is chosen,
        monkeypatch.setattr(submission.pace, "GAIN_OF_THREADS", 1e9)  # with one thread
        ends = []
        for wishes in ({}, {"dtype": "float32", "threads": 1}):
            dataset, model = build()
            submission.utils.set_seed(0)
            config = submission.trainer.TrainerConfig(max_epochs=1, **wishes)
            submission.trainer.Trainer(model, dataset, None, config).train()
            ends.append(model.state_dict())
        assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
