"""The building blocks: the reference agrees with independent implementations and with its
docstrings, and the judge accepts no answer that it should not.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from autograder.judging import Judging
from grading.cases import GradedTestCase
from grading.verdicts import Outcome, TestEnd
from questions.building_blocks import probe as probe
from questions.building_blocks import samples
from tests import variants
from tests.benches import Bench
from tests.variants import building_blocks

TOPICS = variants.TOPICS["building_blocks"]


@pytest.fixture(scope="module")
def reference():
    return building_blocks()


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def normal(rng, *shape):
    return torch.tensor(rng.normal(size=shape))


def close(a, b, atol=1e-12):
    torch.testing.assert_close(a, b, rtol=0, atol=atol)


# Against torch --------------------------------------------------------------------------------


def test_attention_is_torchs(reference, rng):
    q, k, v = normal(rng, 2, 3, 5, 8), normal(rng, 2, 3, 7, 8), normal(rng, 2, 3, 7, 4)
    mask = torch.tensor(rng.random((2, 1, 5, 7)) < 0.6)
    mask[..., 0] = True
    for given in (None, mask):
        wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=given)
        close(reference.scaled_dot_product_attention(q, k, v, given), wanted)


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients(reference, rng):
    q, k, v = (normal(rng, 3, 4).requires_grad_() for _ in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, False, True]])
    y = reference.scaled_dot_product_attention(q, k, v, mask)
    assert y[1].abs().max() == 0
    y.sum().backward()
    assert not any(part.grad.isnan().any() for part in (q, k, v))


def test_heads_and_attention_make_torchs_multihead_attention(reference, rng):
    B, T, C, n_head = 2, 5, 12, 3
    theirs = torch.nn.MultiheadAttention(C, n_head, bias=False, batch_first=True).double()
    x = normal(rng, B, T, C)
    q, k, v = (
        reference.split_heads(part, n_head) for part in (x @ theirs.in_proj_weight.mT).split(C, -1)
    )
    mask = reference.attention_mask("decoder", T, T, torch.tensor([T, T]))[:, None]
    y = reference.merge_heads(reference.scaled_dot_product_attention(q, k, v, mask))
    wanted, _ = theirs(x, x, x, attn_mask=~mask[0, 0], need_weights=False)
    close(theirs.out_proj(y), wanted)


def test_masks_are_torchs_padding_and_causal_masks(reference):
    lengths = torch.tensor([1, 3, 4])
    padding = torch.arange(4) >= lengths[:, None]
    for b in range(3):
        encoder = reference.attention_mask("encoder", 4, 4, lengths)[b]
        assert (encoder == ~padding[b]).all()
        causal = torch.nn.Transformer.generate_square_subsequent_mask(4) == 0
        decoder = reference.attention_mask("decoder", 4, 4, lengths)[b]
        assert (decoder == (causal & ~padding[b])).all()
    assert reference.attention_mask("encoder-decoder", 6, 4, lengths).shape == (3, 6, 4)


def test_cross_attention_is_attention_of_projections_unscaled(reference, rng):
    Z, H = normal(rng, 3, 4), normal(rng, 6, 4)
    Q, K, V = normal(rng, 3, 4, 4)
    wanted = F.scaled_dot_product_attention(Z @ Q, H @ K, H @ V, scale=1.0)
    close(reference.cross_attention(Z, H, Q, K, V), wanted)


def test_layer_norm_is_torchs(reference, rng):
    x, gain, bias = normal(rng, 2, 3, 7), normal(rng, 7), normal(rng, 7)
    close(reference.layer_norm(x, gain, bias, 0.01), F.layer_norm(x, (7,), gain, bias, 0.01))
    close(reference.layer_norm(x), F.layer_norm(x, (7,)))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_block_is_torchs_encoder_layer(reference, rng, norm):
    layer = torch.nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64
    )

    def attention(x):
        return layer.self_attn(x, x, x, need_weights=False)[0]

    def mlp(x):
        return layer.linear2(torch.relu(layer.linear1(x)))

    x = normal(rng, 2, 5, 8)
    close(reference.block(x, attention, mlp, norm), layer(x))


def test_perplexity_is_the_exponential_of_cross_entropy(reference, rng):
    logits, targets = normal(rng, 50, 9), torch.tensor(rng.integers(9, size=50))
    chosen = logits.log_softmax(-1)[torch.arange(50), targets]
    wanted = F.cross_entropy(logits, targets).exp().item()
    assert reference.perplexity(chosen, 50) == pytest.approx(wanted)
    assert reference.perplexity(torch.full((10**6,), -3.0), 10**6) == pytest.approx(math.e**3)


def test_targets_that_were_not_chosen_are_left_out_by_cross_entropy(reference, rng):
    tokens = torch.tensor(rng.integers(2, 50, size=(4, 100)))
    generator = torch.Generator().manual_seed(3)
    _, targets = reference.bert_mask(tokens, 1, 50, generator)
    assert reference.IGNORED == samples.IGNORED == F.cross_entropy.__defaults__[2]
    logits, chosen = normal(rng, 4, 100, 50), targets != reference.IGNORED
    wanted = F.cross_entropy(logits[chosen], tokens[chosen])
    close(F.cross_entropy(logits.flatten(0, 1), targets.flatten()), wanted)


@pytest.mark.parametrize(
    "kind, T, S", [("encoder", 7, 7), ("encoder-decoder", 5, 7), ("decoder", 5, 5)]
)
def test_the_cost_is_half_of_torchs_flops(reference, rng, kind, T, S):
    q, k = normal(rng, T, 12), normal(rng, S, 12)
    with FlopCounterMode(display=False) as counter:
        reference.scaled_dot_product_attention(q, k, k)
    assert counter.get_total_flops() == 2 * reference.attention_multiply_adds(kind, 7, 5, 12)


# Positions ------------------------------------------------------------------------------------


def test_sinusoids_are_what_the_grader_tries_offsets_on(reference):
    for T, d in ((1, 2), (50, 6), (300, 128)):
        close(
            reference.sinusoidal_positions(T, d), torch.tensor(samples.encodings(np.arange(T), d))
        )


@pytest.mark.parametrize("offset", [-7, 0, 1, 40])
def test_offset_matrices_move_positions_and_compose(reference, offset):
    p, M = reference.sinusoidal_positions(120, 16), reference.offset_matrix(offset, 16)
    close(p[50:60] @ M.mT, p[50 + offset : 60 + offset])
    close(M @ M.mT, torch.eye(16, dtype=torch.float64))  # a rotation
    close(M @ reference.offset_matrix(3, 16), reference.offset_matrix(offset + 3, 16))


def test_concatenation_is_a_bias_and_for_sinusoids_a_relative_one(reference, rng):
    x, p = normal(rng, 6, 8), reference.sinusoidal_positions(6, 8)
    bias = reference.relative_bias(p)
    close(x @ x.mT + bias, reference.position_scores(x, p, "concatenate"))
    for n in range(6):
        assert np.ptp(bias.diagonal(n).numpy()) < 1e-12  # depends on i - j alone
    cross = reference.position_scores(x, p, "add") - reference.position_scores(x, p, "concatenate")
    close(cross, x @ p.mT + p @ x.mT)


@pytest.mark.parametrize("T, clip", [(5, None), (5, 2), (1, None), (6, 1)])
def test_as_many_biases_are_looked_up_as_are_counted(reference, T, clip):
    k = T - 1 if clip is None else clip
    biases = torch.arange(3 * (2 * k + 1), dtype=torch.float64).view(3, -1)
    used = reference.relative_bias_matrix(biases, T).unique()
    assert len(used) == reference.relative_bias_parameters(T, 3, clip)


def test_rotation_gives_relative_scores_and_both_pairings_the_same(reference, rng):
    x, y, d = normal(rng, 8), normal(rng, 8), 8
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    i, j = torch.tensor([3, 50]), torch.tensor([1, 48])
    for pairing in ("adjacent", "half"):
        turned = [reference.rotate(a.expand(2, d), b, pairing) for a, b in ((x, i), (y, j))]
        scores = (turned[0] * turned[1]).sum(-1)
        close(scores[0], scores[1])  # i - j is 2 for both
    positions, rows = torch.arange(5), normal(rng, 5, d)
    adjacent = reference.rotate(rows, positions)
    close(adjacent[:, order], reference.rotate(rows[:, order], positions, "half"))
    close(adjacent.norm(dim=-1), rows.norm(dim=-1))


def test_rotation_is_the_offset_matrix_of_sinusoids_reversed(reference, rng):
    x = normal(rng, 6)
    turned = reference.rotate(x[None], torch.tensor([4]))[0]
    close(turned, reference.offset_matrix(-4, 6) @ x)


@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_the_ranges_borders(reference, causal):
    """Count borders in whole numbers: far >= e (m/e)^(r/e) is far^e >= e^(e-r) m^r."""
    for given, n_buckets, reach, asked_causal in samples.distances(np.random.default_rng(5)):
        if asked_causal != causal:
            continue
        got = reference.relative_buckets(torch.tensor(given), n_buckets, reach, causal).tolist()
        b = n_buckets if causal else n_buckets // 2
        e = b // 2
        for place, j_minus_i in enumerate(given.tolist()):
            far = max(-j_minus_i, 0) if causal else abs(j_minus_i)
            borders = [e ** (e - r) * reach**r for r in range(e)]  # to the power of e
            right = far if far < e else e - 1 + sum(far**e >= border for border in borders)
            edge = e < far < reach and far**e in borders
            up = b if j_minus_i > 0 and not causal else 0
            assert got[place] - up in ((right, right - 1) if edge else (right,)), j_minus_i


def test_rounding_decides_nothing_but_at_the_beginning_of_a_range():
    """Check what solutions/hidden/building_blocks.py says, for all distances that can be drawn."""
    for _, n_buckets, reach, causal in samples.distances(np.random.default_rng(5)):
        e = n_buckets // (2 if causal else 4)
        for far in range(e + 1, reach):
            place = e * math.log(far / e) / math.log(reach / e)
            begins = far**e == e ** (e - round(place)) * reach ** round(place)
            assert begins == (abs(place - round(place)) < 1e-5)
            assert begins or abs(place - round(place)) > 1e-4
            single = np.float32(e) * np.log(np.float32(far / e)) / np.log(np.float32(reach / e))
            assert abs(single - place) < 1e-5


# Objectives and reach -------------------------------------------------------------------------


def test_a_span_is_put_back_where_its_sentinel_stands(reference, rng):
    for tokens, spans in samples.spans(rng):
        source, target = reference.span_corruption(tokens, [tuple(span) for span in spans])
        places = [target.index(sentinel) for sentinel in reference.SENTINELS[: len(spans) + 1]]
        removed = {target[a]: target[a + 1 : b] for a, b in zip(places, places[1:], strict=False)}
        restored = [word for token in source for word in removed.get(token, [token])]
        assert restored == tokens and places[-1] == len(target) - 1


@pytest.mark.parametrize("heads, levels", [(1, 6), (2, 4), (5, 3)])
def test_the_receptive_field_is_reached(reference, heads, levels):
    distances = [np.array(reference.looks_back(heads, level)) for level in range(levels)]
    assert samples.reached(distances) == set(range(reference.receptive_field(heads, levels)))


def divergence(a, p):
    return a * math.log(a / p) + (1 - a) * math.log((1 - a) / (1 - p))


def test_the_probabilities_of_a_false_alarm_are_those_stated():
    """solutions/hidden/building_blocks.py, shares of bert_mask."""
    assert all(math.exp(-80_000 * divergence(a, 0.15)) < 1e-13 for a in (0.14, 0.16))
    assert all(math.exp(-11_200 * divergence(a, 0.8)) < 1e-13 for a in (0.77, 0.83))
    left = 0.1 + 0.1 / 1000
    assert all(math.exp(-11_200 * divergence(a, left)) < 1e-10 for a in (0.08, 0.12))
    # One of 998 tokens more than .02 n times, of n = 560 or more.
    assert 998 * math.exp(-560 * divergence(0.02, 1 / 998)) < 2e-7
    assert all(math.exp(-560 * divergence(a, 500 / 998)) < 2e-11 for a in (0.35, 0.65))
    assert math.exp(-40_000 * divergence(0.125, 0.15)) < 1e-44
    assert math.exp(-5_000 * divergence(0.25, 0.15)) < 1e-73


# The grader's tests ---------------------------------------------------------------------------


HOSTILE = {
    "nothing": lambda args: [],
    "none": lambda args: [None] * args["parts"],
    "words": lambda args: ["here"] * args["parts"],
    "lists": lambda args: [[1, 2]] * args["parts"],
    "too many": lambda args: [np.zeros(4)] * (args["parts"] + 1),
    "scalars": lambda args: [np.array(1.0)] * args["parts"],
    "whole numbers": lambda args: [np.zeros((2, 2), dtype=np.int64)] * args["parts"],
    "truth values": lambda args: [np.zeros((2, 2), dtype=bool)] * args["parts"],
    "nan": lambda args: [np.full((4, 4), np.nan)] * args["parts"],
    "huge": lambda args: [np.full((2, 2), 1e308)] * args["parts"],
    "a huge number": lambda args: [np.array(1e308)] * args["parts"],
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.sampled(4)
def test_no_answer_of_a_worker_passes_or_breaks_the_judge(hostile, tmp_path, recwarn, monkeypatch):
    def observe(case, probe, role, args, seed):
        count = len(args["arguments"])
        right = [np.ones(3)] * args["parts"]
        answer = right if role == "reference" else HOSTILE[hostile](args)
        return {
            "forms": ["?"] * count,
            "answers": [answer] * count,
            "changed": [False] * count,
        }

    monkeypatch.setattr(GradedTestCase, "observe", observe)
    bench = Bench(tmp_path)
    run = SimpleNamespace(seed=3, staged=None, judging=Judging(None, bench.judges))
    for test in bench.tests:
        if test.spec.topic in TOPICS:
            with pytest.raises(TestEnd) as end:
                test.method(test.case(run, test.spec))
            assert end.value.verdict.outcome in (Outcome.FAILED, Outcome.ERROR)
    assert [w for w in recwarn if w.category is RuntimeWarning] == []  # numpy's
