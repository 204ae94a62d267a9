"""Packing: the same features as the model's own, without computing anything for padding."""

import copy

import pytest
import torch

from tests.laid_out import VARIANTS


def used(x, y):
    """Return where rows have a token: up to the last input or target."""
    result = torch.zeros_like(x, dtype=torch.bool)
    for row in range(len(x)):
        last = max(column for column in range(x.size(1)) if x[row, column] or y[row, column])
        result[row, : last + 1] = True
    return result


@pytest.fixture
def rows(batch):
    """Return a function that makes rows of a dataset, including the kinds that are rare."""

    def rows(dataset):
        x, y = batch(dataset)
        x[0, 3] = 0  # a gap inside
        y[1, -1] = 5  # a target at the very end, where there is no input
        x[2], y[2] = 0, 0
        y[2, 0] = 7  # a single token
        return x, y

    return rows


@pytest.mark.parametrize(
    ("wanted", "places"), [(0, 0), (1, 128), (128, 128), (129, 256), (257, 300), (300, 300)]
)
def test_the_number_of_places_is_rounded_up(submission, wanted, places):
    got = submission.fast.rounded_places(torch.arange(300) >= 300 - wanted)
    assert len(got) == len(got.unique()) == places
    assert set(range(300 - wanted, 300)) <= set(got.tolist())


@pytest.mark.parametrize("kind", VARIANTS)
def test_features_are_the_models_own(submission, build, rows, kind):
    # In float64, in which the order of sums changes a feature by less than 1e-12.
    dataset, model = build(kind)
    model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    x, y = rows(dataset)
    number = int(used(x, y).sum())
    got = submission.fast.features(model, x, submission.fast.pack(x, y))[:number]
    expected = model.features(x)[used(x, y)]
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", VARIANTS)
def test_what_a_student_changes_in_the_model_is_trained(
    submission, build, batch, kind, monkeypatch
):
    Engine, pace = submission.fast.Engine, submission.fast.Pace()
    dataset, model = build(kind)
    assert Engine(model, pace)._packs

    def post_norm(block, x):
        x = block.ln1(x + block.attn(x))
        return block.ln2(x + block.mlp(x))

    monkeypatch.setattr(submission.model.Block, "forward", post_norm)
    x, y = batch(dataset)
    with Engine(model, pace) as engine:
        assert not engine._packs
        loss = engine.backward(x, y)
    assert loss.item() == pytest.approx(model(x, y)[1].item(), rel=1e-4)


def test_positions_of_another_kind_are_trained(submission, build, monkeypatch):
    # They begin as zeros, which hide how they are used.
    _, model = build()

    def features(model, idx):
        x = model.tok_emb(idx) + model.pos_emb[:, : idx.size(1)].flip(1)
        return model.ln_f(model.blocks(model.drop(x)))

    monkeypatch.setattr(submission.model.GPT, "features", features)
    assert not submission.fast.can_pack(model)


def test_the_comparison_leaves_no_trace(submission, build):
    _, model = build(dropout=0.1)
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    assert submission.fast.can_pack(model)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_students_attention_that_changes_the_shape_is_one_line(submission, build, batch):
    dataset, model = build("synthesizer")

    class Short(type(model.blocks[0].attn)):
        def forward(self, x, layer_past=None):
            return super().forward(x)[:, :-1]

    model.blocks[0].attn.__class__ = Short
    with submission.fast.Engine(model, submission.fast.Pace()) as engine:
        with pytest.raises(submission.pretraining.InputError, match="forward .* a tensor of shape"):
            engine.backward(*batch(dataset))


def test_sums_over_many_tokens_keep_their_digits_in_bfloat16(submission, build, batch):
    # bfloat16 rounds each of a dozen operations by up to 2**-9 = .002, and averages over tokens
    # are more exact: .02 is three times what the parameters of the linear layers have. Sums in
    # bfloat16, as torch's LayerNorm makes them, were wrong by up to half of their size.
    dataset, model = build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    x, y = batch(dataset, rows=500)
    gradients = []
    for dtype in ("float32", "bfloat16"):
        with submission.fast.Engine(model, submission.fast.Pace(dtype)) as engine:
            engine.backward(x, y)
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters()})
    exact, low = gradients
    summed = [name for name in exact if "emb" in name or "ln" in name]
    assert len(summed) == 2 + 2 * 5
    for name in summed:
        assert (low[name] - exact[name]).norm() < 0.02 * exact[name].norm(), name
