"""Practice on masks, residual connections, buckets, bits and parameters: its claims, computed.

Random draws have fixed seeds: a test either always passes or always fails.
"""

import math
import re

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.laid_out import imports_from, lay_out

F64 = torch.float64
DEPTH, POSITIONS, CHANNELS, HEADS, SEEDS = 32, 16, 64, 4, range(8)


def draw(*size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=F64)


# Masks --------------------------------------------------------------------------------------


def test_a_prefix_lm_lies_between_a_decoder_and_an_encoder(b):
    lengths = torch.tensor([6, 4])
    decoder, encoder = (b.attention_mask(kind, 6, 6, lengths) for kind in ("decoder", "encoder"))
    none, all_ = torch.zeros(2, dtype=torch.long), lengths
    assert (b.attention_mask("prefix-lm", 6, 6, lengths, none) == decoder).all()
    assert (b.attention_mask("prefix-lm", 6, 6, lengths, all_) == encoder).all()
    example = b.attention_mask("prefix-lm", 3, 3, torch.tensor([3, 2]), torch.tensor([2, 2]))
    assert example.sum(2).tolist() == [[2, 2, 3], [2, 2, 2]]


def test_a_change_behind_the_prefix_shows_where_a_prefix_lm_looks_ahead(b):
    x, y = draw(6, 8), draw(6, 8, seed=1)
    y[:5] = x[:5]
    mask = b.attention_mask("prefix-lm", 6, 6, torch.tensor([6]), torch.tensor([3]))[0]
    first, second = (b.scaled_dot_product_attention(z, z, z, mask) for z in (x, y))
    assert torch.equal(first[:5], second[:5]) and not torch.allclose(first[5], second[5])


def test_weights_of_both_masks_in_the_example(b, text):
    mask = torch.tensor([True, True, False])
    for hidden, after in ((0.0, (0.665, 0.245)), (5.0, (0.047, 0.017))):
        scores = torch.tensor([2.0, 1.0, hidden], dtype=F64)
        before = b.masked_softmax(scores, mask, "before")[:2].tolist()
        assert before == pytest.approx([0.731, 0.269], abs=5e-4)
        found = b.masked_softmax(scores, mask, "after")[:2].tolist()
        assert found == pytest.approx(after, abs=5e-4)
    for number in (".731", ".269", ".665", ".245", ".047", ".017"):
        assert number in text("late_mask")


def test_the_weights_differ_by_the_share_of_what_is_visible(b):
    scores, mask = 2 * draw(5, 7), draw(5, 7, seed=1) < 0
    mask[:, 0] = True
    share = (scores.exp() * mask).sum(1) / scores.exp().sum(1)
    before, after = (b.masked_softmax(scores, mask, when) for when in ("before", "after"))
    torch.testing.assert_close(after, share[:, None] * before)
    torch.testing.assert_close(after / after.sum(1, keepdim=True), before)
    assert (share[~mask.all(1)] < 1).all()


def test_hidden_scores_get_a_gradient_after_the_softmax_and_none_before(b):
    scores, mask = draw(6).requires_grad_(), torch.tensor([True] * 4 + [False] * 2)
    shares = scores.detach().softmax(0)
    for when in ("before", "after"):
        weights = b.masked_softmax(scores, mask, when)
        (slope,) = torch.autograd.grad(weights[1], scores)
        wanted = -weights[1].detach() * shares[4:] if when == "after" else torch.zeros(2, dtype=F64)
        torch.testing.assert_close(slope[4:], wanted)


def test_a_query_can_be_learnt_that_notices_a_word_ahead(b):
    """A hidden key along the query: the output is nearly 0 when it is there."""
    q, v = torch.tensor([[20.0, 0.0]], dtype=F64), torch.ones(3, 1, dtype=F64)
    mask = torch.tensor([[True, True, False]])
    for ahead, size in (((0.0, 1.0), 2 / 3), ((1.0, 0.0), 0.0)):
        k = torch.tensor([(0.0, 1.0), (0.0, -1.0), ahead], dtype=F64)
        outputs = [b.masked_softmax(q @ k.mT, mask, when) @ v for when in ("before", "after")]
        assert [o.item() for o in outputs] == pytest.approx([1, size], abs=1e-6)


@pytest.mark.parametrize(("gap", "finite"), [(100.0, True), (104.0, False)])
def test_dividing_by_the_sum_fails_in_single_precision(b, gap, finite):
    scores, mask = torch.tensor([0.0, -1.0, gap]), torch.tensor([True, True, False])
    weights = b.masked_softmax(scores, mask, "after")
    assert bool((weights / weights.sum()).isfinite().all()) == finite
    assert b.masked_softmax(scores, mask, "before")[0].item() == pytest.approx(0.731, abs=5e-4)


def test_what_a_row_of_nothing_leaves_in_gradients(b):
    """Replacing scores and zeroing weights are finite; adding, or repairing the output, is not."""
    mask = torch.tensor([[True, True], [False, False]])

    def gradients(weights_of) -> list[bool]:
        q, k, v = (draw(2, 3, seed=n).requires_grad_() for n in range(3))
        weights, mended = weights_of(q @ k.mT)
        output = weights @ v
        if mended:
            output = output.masked_fill(~mask.any(1, keepdim=True), 0.0)
        output.square().sum().backward()
        return [bool(x.grad.isfinite().all()) for x in (q, k, v)]

    hidden = torch.zeros(2, 2, dtype=F64).masked_fill(~mask, -torch.inf)
    replaced = lambda s: s.masked_fill(~mask, -torch.inf).softmax(1)  # noqa: E731
    assert gradients(lambda s: (replaced(s).masked_fill(~mask, 0.0), False)) == [True] * 3
    added = lambda s: (s + hidden).softmax(1).masked_fill(~mask, 0.0)  # noqa: E731
    assert gradients(lambda s: (added(s), False)) == [False, False, True]
    assert gradients(lambda s: (replaced(s), True))[2] is False


# Positions ----------------------------------------------------------------------------------


def test_the_encoders_ranges_are_those_of_the_table(b, text):
    """Compute borders: bucket 8 + r begins at 8 sqrt(2)^r, rounded up to a whole distance."""
    (row,) = re.findall(r"distances & (.*?) \\end", text("buckets"))
    said = [[int(n) for n in re.findall(r"\d+", cell)] for cell in row.split("&")]
    borders = [math.ceil(round(8 * 2 ** (r / 2), 9)) for r in range(9)]
    pairs = zip(borders[:7], borders[1:], strict=False)
    assert said == [*([low, high - 1] for low, high in pairs), [91]]
    got = b.relative_buckets(-torch.arange(500))
    for r, cell in enumerate(said):
        high = cell[1] if len(cell) == 2 else 499
        assert set(got[cell[0] : high + 1].tolist()) == {8 + r}
    assert got[:8].tolist() == list(range(8))


def test_the_decoders_first_wide_bucket(b, text):
    got = b.relative_buckets(-torch.arange(200), causal=True).tolist()
    assert got[:16] == list(range(16)) and got[16:20] == [16, 16, 16, 17]
    assert "16 to 18" in text("buckets") and 8 ** (1 / 16) == pytest.approx(1.14, abs=5e-3)
    assert set(got) == set(range(32))


def test_numbering_frequencies_from_one_makes_neighbours_alike(b):
    one = [math.sin(0.01), math.cos(0.01), math.sin(0.0001), math.cos(0.0001)]
    k = torch.tensor([1.0, 1.0, 2.0, 2.0], dtype=F64)
    shifted = [f(10000 ** (-2 * k[i].item() / 4)) for i, f in enumerate([math.sin, math.cos] * 2)]
    assert shifted == pytest.approx(one)
    p = b.sinusoidal_positions(2, 4)
    assert (p[1] - p[0]).norm() > 0.9 and math.dist(one, [0, 1, 0, 1]) < 0.011


def test_an_added_encoding_leaves_scores_that_depend_on_where_words_are(b):
    x, y, p = draw(8), draw(8, seed=1), b.sinusoidal_positions(20, 8)
    scores = [((x + p[i]) @ (y + p[i + 3])).item() for i in range(10)]
    assert max(scores) - min(scores) > 0.5
    turned = [b.rotate(torch.stack([x, y]), torch.tensor([i, i + 3])) for i in range(10)]
    products = [(t[0] @ t[1]).item() for t in turned]
    assert products == pytest.approx([products[0]] * 10)


# Layers -------------------------------------------------------------------------------------


def xavier(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.rand(rows, columns, generator=generator, dtype=F64)
    return (2 * drawn - 1) * math.sqrt(6 / (rows + columns))


def parts(b, depth: int, is_normed: bool, generator: torch.Generator) -> list:
    """The attention and the feed-forward part of each block, as layers for gradient_at_input."""
    norm = b.layer_norm if is_normed else lambda z: z

    def attention(query, key, value, out):
        def layer(z):
            z = norm(z)[None]
            heads = [b.split_heads(z @ matrix, HEADS) for matrix in (query, key, value)]
            return (b.merge_heads(b.scaled_dot_product_attention(*heads)) @ out)[0]

        return layer

    def feed_forward(first, second):
        return lambda z: torch.relu(norm(z) @ first) @ second

    layers, C = [], CHANNELS
    for _ in range(depth):
        matrices = [xavier(C, C, generator) for _ in range(4)]
        wide = xavier(C, 4 * C, generator), xavier(4 * C, C, generator)
        layers += [attention(*matrices), feed_forward(*wide)]
    return layers


def passed_on(b, depth: int, is_normed: bool, residual: bool) -> float:
    """Return the geometric mean of quotients of norms: the input's gradient over the given one."""
    logarithms = []
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        size = (POSITIONS, CHANNELS)
        x, given = (torch.randn(size, generator=generator, dtype=F64) for _ in range(2))
        layers = parts(b, depth, is_normed, generator)
        got = b.gradient_at_input(x, layers, given, residual)
        logarithms.append(math.log(got.norm() / given.norm()))
    return math.exp(sum(logarithms) / len(logarithms))


def test_the_table_of_gradients_over_32_blocks(b, text):
    wanted = {(False, False): 8e-10, (False, True): 1.2e9, (True, False): 0.17, (True, True): 5.5}
    for (is_normed, residual), factor in wanted.items():
        assert passed_on(b, DEPTH, is_normed, residual) == pytest.approx(factor, rel=0.05)
    said = text("residuals")
    for number in (r"about \(10^{-9}\)", r"\(10^{9}\) to", r"about \(.2\)", "about 5"):
        assert number in said
    assert 8e-10 ** (1 / 32) == pytest.approx(0.5, abs=0.03)  # "about a half" for each block
    assert 1.2e9 ** (1 / 32) == pytest.approx(2, abs=0.1)  # "about doubles"


def test_residual_connections_of_the_examples(b):
    gradient = torch.ones(1, 2, dtype=F64)

    def left(factor: float, residual: bool) -> float:
        layers = [lambda z: factor * z] * 32
        return b.gradient_at_input(torch.ones(1, 2, dtype=F64), layers, gradient, residual)[0, 0]

    assert left(0.5, False) == pytest.approx(2.3e-10, rel=0.02)
    assert left(0.5, True) == pytest.approx(4.3e5, rel=0.02)
    assert left(0.01, False) == pytest.approx(1e-64)
    assert left(0.01, True) == pytest.approx(1.37, abs=0.01)
    assert (left(0.0, False), left(0.0, True)) == (0, 1)
    assert left(-1.0, True) == 0  # the other paths may cancel the 1


def test_a_stack_of_residual_layers_is_the_sum_over_all_paths(b):
    """The gradient by linear layers, against 2^n products of matrices in the layers' order."""
    matrices = [draw(3, 3, seed=n) for n in range(4)]
    gradient, total = draw(2, 3, seed=9), torch.zeros(2, 3, dtype=F64)
    for chosen in range(2**4):
        path = gradient
        for n in reversed(range(4)):
            path = path @ matrices[n].mT if chosen >> n & 1 else path
        total += path
    layers = [lambda z, m=m: z @ m for m in matrices]
    torch.testing.assert_close(b.gradient_at_input(draw(2, 3), layers, gradient, True), total)


def test_with_norms_stacked_attention_is_no_average_of_one_linear_map(b):
    """The claim on stacks without norms fails with norms, which aren't linear in values."""
    x, value = draw(7, 4), draw(4, 4, seed=1)

    def stack(z: torch.Tensor, norm) -> torch.Tensor:
        for _ in range(2):
            uniform = torch.full((7, 7), 1 / 7, dtype=F64)  # equal weights, whatever the input
            z = uniform @ norm(z) @ value
        return z

    plain = stack(3 * x, lambda z: z)
    torch.testing.assert_close(plain, 3 * stack(x, lambda z: z))
    assert not torch.allclose(stack(3 * x, b.layer_norm), 3 * stack(x, b.layer_norm), atol=0.1)


# Objectives, sizes --------------------------------------------------------------------------


def test_bits_and_perplexities_of_the_text(b, text):
    assert b.bits_per_character(0.7, 100, 100) == pytest.approx(1.01, abs=5e-3)
    assert b.bits_per_character(0.98 * math.log(2), 1, 1) == pytest.approx(0.98)
    assert 0.98 * math.log(2) == pytest.approx(0.68, abs=5e-3)
    assert 2**0.98 == pytest.approx(1.97, abs=5e-3)
    assert 2 ** (6 * 0.98) == pytest.approx(59, abs=0.5) and 6 * 0.98 == pytest.approx(5.88)
    for number in ("1.01 bits", ".68", "1.97", "5.88", "approx 59"):
        assert number in text("perplexity")


def test_bits_are_the_length_of_an_ideal_code(b):
    """Of a text of words with probabilities 1/2, 1/4 and 1/8, coded in 1, 2 and 3 bits."""
    lengths = [1, 2, 3, 3, 1, 2]
    loss = sum(length * math.log(2) for length in lengths) / len(lengths)
    assert b.bits_per_character(loss, len(lengths), 24) * 24 == pytest.approx(sum(lengths))


def test_the_lengths_of_input_and_target_with_sentinels(b, text):
    taken, count = round(0.15 * 512), round(0.15 * 512 / 3)
    assert (taken, count) == (77, 26)
    lengths = [3] * 25 + [2]
    starts = [19 * n for n in range(26)]
    spans = [(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    # There are 26 sentinels, of which the last one has to be left: so 25 spans, and one by hand.
    source, target = b.span_corruption([str(n) for n in range(512)], spans[:25])
    assert (len(source) - 2 + 1, len(target) + 2 + 1) == (461, 104)
    assert "= 461" in text("sentinels") and "= 104" in text("sentinels")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Return the students' model, with the reference's attention."""
    folder = lay_out(tmp_path_factory.mktemp("parameters") / "root")
    with imports_from(folder / "src"):
        from submission import model

        yield model


SHAPE = {"vocab_size": 50_257, "block_size": 2048, "n_layer": 96, "n_head": 96, "n_embd": 12_288}


@pytest.mark.parametrize(
    "fields",
    [
        {"vocab_size": 3, "block_size": 5, "n_layer": 1, "n_head": 1, "n_embd": 2},
        {"vocab_size": 30, "block_size": 7, "n_layer": 3, "n_head": 2, "n_embd": 12, "rope": True},
        {"vocab_size": 9, "block_size": 8, "n_layer": 2, "n_head": 3, "n_embd": 12}
        | {"synthesizer": True},
        SHAPE,
    ],
)
def test_parameters_are_those_of_the_model(b, given, fields):
    config = given.GPTConfig(**fields)
    with torch.device("meta"):
        model = given.GPT(config)
    assert b.count_parameters(config) == sum(p.numel() for p in model.parameters())


def test_the_numbers_of_gpt_3s_shape(b, given, text):
    count = b.count_parameters(given.GPTConfig(**SHAPE))
    V, T, L, C = (SHAPE[key] for key in ("vocab_size", "block_size", "n_layer", "n_embd"))
    assert count == 2 * V * C + T * C + L * (12 * C**2 + 13 * C) + 2 * C
    assert count == pytest.approx(175.2e9, abs=0.05e9)
    assert (8 * L * C**2 + 5 * L * C) / count == pytest.approx(0.66, abs=5e-3)
    assert V * C == pytest.approx(0.6e9, abs=0.05e9)
    assert V * C / count == pytest.approx(0.0035, abs=5e-5)
    for number in ("175.2 billion", r"66\,\%", ".6 billion", r".35\,\%"):
        assert number in text("parameters")


def test_how_much_less_a_synthesizer_has(b, given, text):
    fields = {"vocab_size": 50, "block_size": 128, "n_layer": 1, "n_head": 4, "n_embd": 128}
    vanilla, other = (
        b.count_parameters(given.GPTConfig(**fields, synthesizer=switch))
        for switch in (False, True)
    )
    assert vanilla - other == 12_288 == 16_512 - 4_224
    assert r"\(16{,}512 - 4{,}224 = 12{,}288\)" in text("parameters")


def test_an_encoder_decoder_has_twice_the_parameters_at_the_same_cost():
    """Two stacks of linear layers, for source and target, against one for both: FLOPs, counted."""

    def stack() -> torch.nn.Module:
        return torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(6)])

    encoder, decoder, alone = stack(), stack(), stack()
    source, target = torch.zeros(40, 16), torch.zeros(60, 16)
    with FlopCounterMode(display=False) as of_two:
        encoder(source), decoder(target)
    with FlopCounterMode(display=False) as of_one:
        alone(torch.cat([source, target]))
    assert of_two.get_total_flops() == of_one.get_total_flops() > 0
    sizes = [sum(p.numel() for p in part.parameters()) for part in (encoder, decoder, alone)]
    assert sizes[0] + sizes[1] == 2 * sizes[2]
