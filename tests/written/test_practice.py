"""Practice on building blocks: the numbers in the sheet's text and in its answers are right.

Random draws have fixed seeds: a test either always passes or always fails. If a bound could have
been missed by chance, the probability of that is given.
"""

import ast
import math
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.project import ROOT
from tests.variants import building_blocks

F64 = torch.float64


@pytest.fixture(scope="module")
def b():
    """The reference's building blocks."""
    return building_blocks()


@cache
def text(topic: str) -> str:
    """Return a practice question and its answer, from the templates, in one line."""
    names = (f"handout/{folder}/blocks_{topic}.tex.j2" for folder in ("topics", "answers"))
    return " ".join(" ".join((ROOT / n).read_text(encoding="utf-8").split()) for n in names)


def lacking(topic: str, *words: str) -> list[str]:
    """Return those words that stand neither in a question nor in its answer."""
    return [each for each in words if each not in text(topic)]


# Attention ------------------------------------------------------------------------------------


def test_the_root_makes_the_examples_gradient_117000_times_as_large():
    slopes = []
    for divisor in (8, 1):
        products = torch.tensor([112.0, 96.0], dtype=F64, requires_grad=True)
        weights = (products / divisor).softmax(0)
        slopes.append(torch.autograd.grad(weights[0], products)[0][0].item())
    assert slopes == [pytest.approx(0.0131, rel=2e-3), pytest.approx(1.1e-7, rel=0.03)]
    assert slopes[0] / slopes[1] == pytest.approx(117_000, rel=5e-3)
    assert lacking("attention", "about 117{,}000 times", r"\(.0131\)") == []


def test_largest_weights_of_ten_random_keys_are_those_of_the_text():
    """Given q, the scores q.k are independent N(0, |q|^2). Means of 100,000 weights in [0, 1] are
    off by .009 with probability below 2 exp(-2 * 1e5 * .009^2) < 1e-6 (Hoeffding)."""
    rng = np.random.default_rng(0)
    for d, wanted in ((64, (0.32, 0.86)), (1024, (0.32, 0.97))):
        lengths = np.sqrt(rng.chisquare(d, size=(100_000, 1)))
        scores = torch.from_numpy(lengths * rng.normal(size=(100_000, 10)))
        for divisor, about in zip((math.sqrt(d), 1), wanted, strict=True):
            largest = (scores / divisor).softmax(1).max(1).values.mean().item()
            assert largest == pytest.approx(about, abs=0.009)
    assert lacking("attention", ".32 with the root", ".86 and .97") == []


def test_weights_of_both_masks_in_the_example(b):
    mask = torch.tensor([True, True, False])
    for hidden, after in ((0.0, (0.665, 0.245)), (5.0, (0.047, 0.017))):
        scores = torch.tensor([2.0, 1.0, hidden], dtype=F64)
        before = b.masked_softmax(scores, mask, "before")[:2].tolist()
        assert before == pytest.approx([0.731, 0.269], abs=5e-4)
        found = b.masked_softmax(scores, mask, "after")[:2].tolist()
        assert found == pytest.approx(after, abs=5e-4)
    assert lacking("late_mask", ".731", ".269", ".665", ".245", ".047", ".017") == []


# Positions ------------------------------------------------------------------------------------


def test_the_plots_formula_has_no_offset_matrix(b):
    """The best matrix, by least squares, for columns with a frequency each, and for pairs."""
    t, k = torch.arange(1, 513, dtype=F64)[:, None], torch.arange(1, 15, dtype=F64)

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
    assert lacking("offsets", "up to .56", "up to 1.1") == []


def test_the_table_of_relative_biases(b):
    said = text("relative_bias")
    for positions in (512, 2048):
        counts = (positions * 512, b.relative_bias_parameters(positions, 8))
        for count in (*counts, b.relative_bias_parameters(positions, 8, 128)):
            assert f"{count:,}".replace(",", "{,}") in said, count


def test_the_encoders_ranges_are_those_of_the_table(b):
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


def test_the_decoders_first_wide_bucket(b):
    got = b.relative_buckets(-torch.arange(200), causal=True).tolist()
    assert got[:16] == list(range(16)) and got[16:20] == [16, 16, 16, 17]
    assert "16 to 18" in text("buckets") and 8 ** (1 / 16) == pytest.approx(1.14, abs=5e-3)
    assert set(got) == set(range(32))


# Layers ---------------------------------------------------------------------------------------


def test_the_figure_is_what_its_script_draws_and_measures(run_python):
    path = ROOT / "handout/figures/gradient_over_depth.tex"
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r"^% (pre|post) (first|last): (.*)", text, re.M)
    drawn = {(norm, end): [float(x) for x in row.split()] for norm, end, row in rows}
    start = "import torch; torch.set_num_threads(1); from benchmarks import norms as n"
    done = run_python("-c", f"{start}; print(n.picture({drawn}), n.measure((1, 4)), sep='@')")
    assert done.stderr == ""
    picture, _, measured = done.stdout.partition("@")
    assert picture == text
    for which, (shallow, deeper) in ast.literal_eval(measured).items():
        # The third digit may be rounded either way.
        assert (shallow, deeper) == pytest.approx((drawn[which][0], drawn[which][2]), rel=5e-3)


# Objectives, cost, sizes ----------------------------------------------------------------------


def test_the_text_of_sentinels_is_what_the_function_gives(b):
    line = "Thank you for inviting me to your party last week"
    source, target = b.span_corruption(line.split(), [(2, 4), (8, 9)])
    shown = line, " ".join(source), " ".join(target)
    assert lacking("sentinels", *(rf"\lit{{{words}}}" for words in shown)) == []


def test_the_lengths_of_input_and_target_with_sentinels(b):
    taken, count = round(0.15 * 512), round(0.15 * 512 / 3)
    assert (taken, count) == (77, 26)
    lengths = [3] * 25 + [2]
    starts = [19 * n for n in range(26)]
    spans = [(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    # There are 26 sentinels, of which the last one has to be left: so 25 spans, and one by hand.
    source, target = b.span_corruption([str(n) for n in range(512)], spans[:25])
    assert (len(source) - 2 + 1, len(target) + 2 + 1) == (461, 104)
    assert lacking("sentinels", "= 461", "= 104") == []


def test_bits_and_perplexities_of_the_text(b):
    assert b.bits_per_character(0.7, 100, 100) == pytest.approx(1.01, abs=5e-3)
    assert b.bits_per_character(0.98 * math.log(2), 1, 1) == pytest.approx(0.98)
    assert 0.98 * math.log(2) == pytest.approx(0.68, abs=5e-3)
    assert 2**0.98 == pytest.approx(1.97, abs=5e-3)
    assert 2 ** (6 * 0.98) == pytest.approx(59, abs=0.5) and 6 * 0.98 == pytest.approx(5.88)
    assert lacking("perplexity", "1.01 bits", ".68", "1.97", "5.88", "approx 59") == []


def test_the_table_of_costs(b):
    """A layer's projections and its feed-forward part take 4 n k^2 and 8 n k^2 multiply-adds."""
    rows = re.findall(r"([\d{},]+) & \\\((.*?)\\\) & \\\((.*?)\\\) & ([\d.]+)", text("cost"))
    assert [row[0] for row in rows] == ["30", "512", "6{,}000", "50{,}000"]
    for length, pairs, rest, quotient in rows:
        n = int(length.replace("{,}", ""))
        numbers = b.attention_multiply_adds("encoder", n, 1, 1000), (4 + 8) * n * 1000**2
        for said, number in zip((pairs, rest), numbers, strict=True):
            mantissa, exponent = re.fullmatch(r"([\d.]+) \\cdot 10\^\{?(\d+)\}?", said).groups()
            assert float(mantissa) * 10 ** int(exponent) == pytest.approx(number, rel=0.02)
        assert float(quotient) == pytest.approx(numbers[0] / numbers[1], rel=0.01)


def test_the_examples_of_cost_and_of_parameters(b):
    wanted = {"encoder": 180, "encoder-decoder": 300, "decoder": 500}
    for kind, count in wanted.items():
        assert b.attention_multiply_adds(kind, 3, 5, 10) == count and str(count) in text("cost")
    V, T, L, C = 3, 5, 1, 2
    terms = [2 * V * C, T * C, L * (12 * C**2 + 13 * C), 2 * C]
    assert terms == [12, 10, 74, 4] and sum(terms) == 100
    assert "12 + 10 + 74 + 4 = 100" in text("parameters")
    k = 1000
    assert 2 * (6 * k) ** 2 * k == 12 * (6 * k) * k**2  # both cost the same at n = 6k


def parameters(b, synthesizer: bool = False, **fields: int) -> int:
    return b.count_parameters(SimpleNamespace(**fields, synthesizer=synthesizer, rope=False))


def test_the_numbers_of_gpt_3s_shape(b):
    V, T, L, C = 50_257, 2048, 96, 12_288
    count = parameters(b, vocab_size=V, block_size=T, n_layer=L, n_head=96, n_embd=C)
    assert count == 2 * V * C + T * C + L * (12 * C**2 + 13 * C) + 2 * C
    assert count == pytest.approx(175.2e9, abs=0.05e9)
    assert (8 * L * C**2 + 5 * L * C) / count == pytest.approx(0.66, abs=5e-3)
    assert V * C == pytest.approx(0.6e9, abs=0.05e9)
    assert V * C / count == pytest.approx(0.0035, abs=5e-5)
    assert lacking("parameters", "175.2 billion", r"66\,\%", ".6 billion", r".35\,\%") == []


def test_how_much_less_a_synthesizer_has(b):
    fields = {"vocab_size": 50, "block_size": 128, "n_layer": 1, "n_head": 4, "n_embd": 128}
    vanilla, other = (parameters(b, switch, **fields) for switch in (False, True))
    assert vanilla - other == 12_288 == 16_512 - 4_224
    assert r"\(16{,}512 - 4{,}224 = 12{,}288\)" in text("parameters")
