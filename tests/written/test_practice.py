"""The sheet's section on building blocks: claims in its text and answers hold numerically.

Random draws have fixed seeds: a test either always passes or always fails. If a bound could have
been missed by chance, the probability of that is given.
"""

import ast
import math
import re
from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

T = torch.float64


def draw(*size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=T)


# Attention ----------------------------------------------------------------------------------


def test_the_root_makes_the_examples_gradient_117000_times_as_large(text):
    products = torch.tensor([112.0, 96.0], dtype=T, requires_grad=True)
    slopes = []
    for divisor in (8, 1):
        weights = (products / divisor).softmax(0)
        slopes.append(torch.autograd.grad(weights[0], products)[0][0].item())
        if divisor == 8:
            assert weights.tolist() == pytest.approx([0.88, 0.12], abs=5e-3)
        else:
            assert weights[1].item() == pytest.approx(1.1e-7, rel=0.03)
    assert slopes == [pytest.approx(0.0131, rel=2e-3), pytest.approx(1.1e-7, rel=0.03)]
    assert slopes[0] / slopes[1] == pytest.approx(117_000, rel=5e-3)
    assert "about 117{,}000 times" in text("attention") and ".0131" in text("attention")


def test_largest_weights_of_ten_random_keys_are_those_of_the_text(text):
    """Given q, the scores q.k are independent N(0, |q|^2). Means of 100,000 weights in [0, 1] are
    off by .009 with probability below 2 exp(-2 * 1e5 * .009^2) < 1e-6 (Hoeffding)."""
    rng = np.random.default_rng(0)
    for d, wanted in ((64, (0.32, 0.86)), (1024, (0.32, 0.97))):
        lengths = np.sqrt(rng.chisquare(d, size=(100_000, 1)))
        scores = torch.from_numpy(lengths * rng.normal(size=(100_000, 10)))
        for divisor, about in zip((math.sqrt(d), 1), wanted, strict=True):
            largest = (scores / divisor).softmax(1).max(1).values.mean().item()
            assert largest == pytest.approx(about, abs=0.009)
    for number in (".32 with the root", ".86 and .97"):
        assert number in text("attention")


def test_a_row_that_may_look_nowhere_has_no_nan_in_output_or_gradient(b):
    q, k, v = (draw(3, 4, seed=n).requires_grad_() for n in range(3))
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    out = b.scaled_dot_product_attention(q, k, v, mask)
    out.square().sum().backward()
    assert (out[1] == 0).all() and all(x.grad.isfinite().all() for x in (q, k, v))


def test_a_reshape_at_once_gives_heads_parts_of_the_sequence(b):
    x = torch.arange(8).reshape(1, 2, 4)  # a_0 .. a_3, then b_0 .. b_3
    assert b.split_heads(x, 2).tolist() == [[[[0, 1], [4, 5]], [[2, 3], [6, 7]]]]
    assert x.reshape(1, 2, 2, 2).tolist() == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]


def test_zeroing_weights_after_the_softmax_is_no_mask(b):
    q, k, v = (draw(5, 8, seed=n) for n in range(3))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    zeroed = (q @ k.mT / math.sqrt(8)).softmax(1) * causal
    assert (zeroed.sum(1)[:-1] < 0.99).all()
    assert not torch.allclose(zeroed @ v, b.scaled_dot_product_attention(q, k, v, causal))


def test_made_up_scores_of_the_slides_have_other_weights():
    scores = torch.tensor([14.2, 18.1, 10.3, 7.9])
    assert [round(x, 2) for x in scores.softmax(0).tolist()] == [0.02, 0.98, 0, 0]


# Positions ----------------------------------------------------------------------------------


def attend(b, x, mask=None):
    q, k, v = (x @ draw(8, 8, seed=n) for n in range(3))
    return b.scaled_dot_product_attention(q, k, v, mask)


def test_attention_is_equivariant_until_it_knows_positions(b):
    x, order = draw(6, 8, seed=9), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(attend(b, x[order]), attend(b, x)[order])
    p = b.sinusoidal_positions(6, 8)
    assert not torch.allclose(attend(b, x[order] + p), attend(b, x + p)[order], atol=0.1)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    assert not torch.allclose(attend(b, x[order], causal), attend(b, x, causal)[order], atol=0.1)


def test_encodings_are_unique_and_as_far_apart_as_the_text_says(b):
    first = b.sinusoidal_positions(711, 2)
    assert (first[710] - first[0]).norm().item() == pytest.approx(6e-5, rel=0.01)
    p = b.sinusoidal_positions(2000, 14)
    distances = torch.cdist(p, p, compute_mode="donot_use_mm_for_euclid_dist")
    neighbours = distances.diagonal(1)
    assert neighbours.tolist() == pytest.approx([1.0] * 1999, rel=5e-3)
    distances.fill_diagonal_(torch.inf)
    assert distances.min() >= neighbours.min() - 1e-9
    torch.testing.assert_close(p.norm(dim=1), torch.full((2000,), math.sqrt(7), dtype=T))
    slowest = 2 * math.pi * 10000 ** (126 / 128)
    assert slowest == pytest.approx(54_000, rel=0.01)


def test_products_of_encodings_depend_on_the_distance_alone(b):
    p = b.sinusoidal_positions(300, 32)
    products = p @ p.mT
    for distance in (0, 1, 10, 100):
        along = products.diagonal(distance)
        assert (along.max() - along.min()).item() < 1e-9
    assert products.max().item() == pytest.approx(16)


def test_the_plots_formula_has_no_offset_matrix(b, text):
    """The best matrix, by least squares, for columns with a frequency each, and for pairs."""
    t, k = torch.arange(1, 513, dtype=T)[:, None], torch.arange(1, 15, dtype=T)

    def plotted(t: torch.Tensor) -> torch.Tensor:
        angles = t * 10000 ** (-k / 14)
        return torch.where(k % 2 == 0, angles.sin(), angles.cos())

    def missed(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        best = torch.linalg.lstsq(before, after, driver="gelsd").solution
        return (before @ best - after).abs().amax(0)

    p = b.sinusoidal_positions(600, 14)
    for offset, off in ((1, 0.56), (10, 1.1)):
        worst = missed(plotted(t), plotted(t + offset))
        assert worst.max().item() == pytest.approx(off, abs=0.03)
        assert worst[7:].max() < 1e-7  # the slow columns, says the answer
        assert missed(p[1:513], p[1 + offset : 513 + offset]).max() < 1e-10
    assert "up to .56" in text("offsets") and "up to 1.1" in text("offsets")


def test_offset_matrices_compose(b):
    M = b.offset_matrix
    torch.testing.assert_close(M(0, 6), torch.eye(6, dtype=T))
    torch.testing.assert_close(M(3, 6) @ M(5, 6), M(8, 6))
    torch.testing.assert_close(M(-3, 6), M(3, 6).mT)


def test_cross_terms_of_the_example_and_of_random_vectors(b):
    x, p = torch.tensor([[1.0, 0], [0, 2]]), torch.tensor([[0.0, 3], [4, 0]])
    assert b.position_scores(x, p, "add")[0, 1] == 10
    assert b.position_scores(x, p, "concatenate")[0, 1] == 0
    assert (x[0] @ p[1], p[0] @ x[1]) == (4, 6)
    d, words = 512, draw(400, 512)
    cosines = words[:200] @ words[200:].mT / words[:200].norm(dim=1)[:, None]
    cosines = cosines / words[200:].norm(dim=1)
    assert cosines.std().item() == pytest.approx(1 / math.sqrt(d), rel=0.05)
    crossed = words @ b.sinusoidal_positions(50, d).mT
    assert crossed.std().item() == pytest.approx(math.sqrt(d / 2), rel=0.1)


def test_a_bias_multiplies_weights_before_they_are_normalised(b):
    x, p = draw(5, 8), b.sinusoidal_positions(5, 8)
    bias = b.relative_bias(p)
    weights = bias.exp() * (x @ x.mT).exp()
    weights = weights / weights.sum(1, keepdim=True)
    torch.testing.assert_close(weights, b.position_scores(x, p, "concatenate").softmax(1))
    omega = 10000.0 ** (-torch.arange(4, dtype=T) / 4)
    assert bias[3, 1].item() == pytest.approx((2 * omega).cos().sum().item())


def test_the_table_of_relative_biases(b, text):
    said = text("relative_bias")
    for positions in (512, 2048):
        counts = (positions * 512, b.relative_bias_parameters(positions, 8))
        for count in (*counts, b.relative_bias_parameters(positions, 8, 128)):
            assert f"{count:,}".replace(",", "{,}") in said, count


def test_rotations_see_distances_and_the_pairings_agree(b):
    x, y = draw(1, 8), draw(1, 8, seed=1)

    def score(i: int, j: int, pairing: str) -> float:
        turned = (b.rotate(v, torch.tensor([n]), pairing) for v, n in ((x, i), (y, j)))
        return (next(turned) @ next(turned).mT).item()

    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # 2k and 2k + 1 to k and k + d/2
    at = torch.arange(5, 6)
    torch.testing.assert_close(
        b.rotate(x, at)[:, order], b.rotate(x[:, order], at, "half"), rtol=0, atol=1e-12
    )
    for pairing in ("adjacent", "half"):
        assert score(2, 5, pairing) == pytest.approx(score(102, 105, pairing))
        assert score(2, 5, pairing) != pytest.approx(score(2, 6, pairing))
    plane = b.rotate(torch.tensor([[1.0, 0]] * 2, dtype=T), torch.tensor([2, 5]))
    assert (plane[0] @ plane[1]).item() == pytest.approx(-0.99, abs=1e-3)


# Layers -------------------------------------------------------------------------------------


def test_layer_norm_and_what_the_slides_slip_does(b):
    x = torch.tensor([1.0, 2, 3, 4], dtype=T)
    assert b.layer_norm(x).tolist() == pytest.approx([-1.34, -0.45, 0.45, 1.34], abs=5e-3)
    off = x - x.sum()
    slipped = off / off.square().mean().sqrt()
    assert off.square().mean().item() == 57.5
    assert slipped.tolist() == pytest.approx([-1.19, -1.06, -0.92, -0.79], abs=5e-3)
    assert slipped.mean().item() == pytest.approx(-0.99, abs=5e-3)


def test_stacked_attention_only_averages_its_inputs_again(b):
    """The output of two layers is W X V V' with weights W that are found by the first's alone."""
    x, maps = draw(7, 4), [draw(4, 4, seed=n) for n in (1, 2)]
    product, out = torch.eye(7, dtype=T), x
    for value in maps:
        weights = b.scaled_dot_product_attention(out, out, torch.eye(7, dtype=T))
        product, out = weights @ product, b.scaled_dot_product_attention(out, out, out @ value)
    assert (product >= 0).all()
    torch.testing.assert_close(product.sum(1), torch.ones(7, dtype=T))
    torch.testing.assert_close(out, product @ (x @ maps[0] @ maps[1]))
    values = x @ maps[0] @ maps[1]
    assert (out <= values.amax(0) + 1e-9).all() and (out >= values.amin(0) - 1e-9).all()


@pytest.fixture(scope="module")
def drawn(root):
    """Return the figure's numbers, by norm and block: one for each depth."""
    path = root / "handout/figures/gradient_over_depth.tex"
    lines = re.findall(r"^% (pre|post) (first|last): (.*)", path.read_text("utf-8"), re.M)
    return {(norm, end): [float(x) for x in row.split()] for norm, end, row in lines}


def test_the_figure_is_what_its_script_draws_and_measures(root, run_python, drawn):
    code = f"""
import torch
from benchmarks import norms as n
torch.set_num_threads(1)
assert n.FIGURE.read_text(encoding="utf-8") == n.picture({drawn})
assert n.DEPTHS == (1, 2, 4, 8, 16, 32) and len(n.SEEDS) == 8
assert (n.BATCH, n.LENGTH, n.CHANNELS, n.HEADS) == (16, 16, 64, 4)
print(n.measure((1, 4)))
"""
    done = run_python("-c", code)
    assert done.stderr == ""
    for which, (shallow, deeper) in ast.literal_eval(done.stdout).items():
        # The third digit may be rounded either way.
        assert (shallow, deeper) == pytest.approx((drawn[which][0], drawn[which][2]), rel=5e-3)


def test_the_last_blocks_gradient_falls_with_pre_norm_and_not_with_post_norm(drawn):
    pre, post = drawn["pre", "last"], drawn["post", "last"]
    assert pre == sorted(pre, reverse=True) and post[-1] > post[0]
    assert pre[-1] / pre[-3] == pytest.approx(1 / math.sqrt(32 / 8), rel=0.05)


# Objectives, reach and cost -----------------------------------------------------------------


def test_the_text_of_sentinels_is_what_the_function_gives(b, text):
    line = "Thank you for inviting me to your party last week"
    source, target = b.span_corruption(line.split(), [(2, 4), (8, 9)])
    for words in (line, " ".join(source), " ".join(target)):
        assert rf"\lit{{{words}}}" in text("sentinels")


def test_perplexities_of_the_text(b):
    assert b.perplexity(torch.full((60,), -math.log(2)), 20) == pytest.approx(8)
    assert b.perplexity(torch.full((60,), -math.log(2)), 60) == pytest.approx(2)
    assert math.exp(0.7) == pytest.approx(2.0, abs=0.02)
    assert 0.125**358 > 0 and 0.125**359 == 0
    assert 1000 * math.log10(8) == pytest.approx(903, abs=0.5)
    assert b.perplexity(torch.full((1000,), -math.log(8), dtype=T), 1000) == pytest.approx(8)


def occupied(heads: int, levels: int, positions: int) -> dict[int, float]:
    """Return the distribution of how many positions count, if each head looks at a random one."""
    spread = {1: 1.0}
    for _ in range(levels):
        after: Counter[int] = Counter()
        for count, share in spread.items():
            now = {count: share}
            for _ in range(heads * count):
                hit: Counter[int] = Counter()
                for n, p in now.items():
                    hit[n] += p * n / positions
                    hit[n + 1] += p * (positions - n) / positions
                now = hit
            after.update(now)
        spread = after
    return spread


def test_random_heads_stay_below_the_bound(b):
    """1,000 simulated trials: of values in [1, 81] (Hoeffding), means are off by 7 with probability
    below 2 exp(-2 * 1000 * (7 / 80)^2) < 1e-6."""
    spread = occupied(2, 4, 81)
    mean = sum(n * p for n, p in spread.items())
    assert mean == pytest.approx(47.1, abs=0.05)
    assert sum(p for n, p in spread.items() if n > 57) == pytest.approx(1 / 449, rel=0.01)
    assert max(spread) == b.receptive_field(2, 4) == 81 and spread[81] < 2e-34
    rng, counts = np.random.default_rng(0), []
    for _ in range(1000):
        looks = rng.integers(81, size=(4, 81, 2))
        found = {80}
        for level in looks[::-1]:
            found |= {int(p) for t in found for p in level[t]}
        counts.append(len(found))
    assert np.mean(counts) == pytest.approx(mean, abs=7) and max(counts) < 81


def test_distances_1_2_and_4_reach_eight_positions(b):
    assert [b.looks_back(1, level) for level in range(3)] == [[1], [2], [4]]
    sums = {i + 2 * j + 4 * k for i in (0, 1) for j in (0, 1) for k in (0, 1)}
    assert sums == set(range(8)) and b.receptive_field(1, 3) == 8
    assert len({i + j + k for i in (0, 1) for j in (0, 1) for k in (0, 1)}) == 4


@pytest.mark.parametrize("kind", ["encoder", "encoder-decoder", "decoder"])
@pytest.mark.parametrize("heads", [1, 4])
def test_torch_counts_twice_as_many_flops(b, kind, heads):
    M, N, k = 12, 20, 16
    queries, keys = {"encoder": (M, M), "encoder-decoder": (N, M), "decoder": (N, N)}[kind]
    q, key, v = (b.split_heads(torch.zeros(1, n, k), heads) for n in (queries, keys, keys))
    with FlopCounterMode(display=False) as counter:
        b.scaled_dot_product_attention(q, key, v, torch.ones(queries, keys).tril() == 1)
    assert counter.get_total_flops() == 2 * b.attention_multiply_adds(kind, M, N, k)


def test_the_table_of_costs(b, text):
    """Count a layer's projections and feed-forward part, and compare with the table."""
    n, k = 10, 8
    with FlopCounterMode(display=False) as counter:
        x = torch.zeros(n, k)
        for rows, columns in [(k, k)] * 4:
            x @ torch.zeros(rows, columns)
        x @ torch.zeros(k, 4 * k) @ torch.zeros(4 * k, k)
    assert counter.get_total_flops() == 2 * 12 * n * k**2
    rows = re.findall(r"([\d{},]+) & \\\((.*?)\\\) & \\\((.*?)\\\) & ([\d.]+)", text("cost"))
    assert [row[0] for row in rows] == ["30", "512", "6{,}000", "50{,}000"]
    for length, pairs, rest, quotient in rows:
        n = int(length.replace("{,}", ""))
        numbers = b.attention_multiply_adds("encoder", n, 1, 1000), 12 * n * 1000**2
        for said, number in zip((pairs, rest), numbers, strict=True):
            mantissa, exponent = re.fullmatch(r"([\d.]+) \\cdot 10\^\{?(\d+)\}?", said).groups()
            assert float(mantissa) * 10 ** int(exponent) == pytest.approx(number, rel=0.02)
        assert float(quotient) == pytest.approx(numbers[0] / numbers[1], rel=0.01)
