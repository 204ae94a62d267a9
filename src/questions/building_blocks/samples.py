"""Inputs for the building blocks, and computations that check their answers."""

from typing import Any

import numpy as np

IGNORED = -100
WORDS = "the a of one two three last first party week tea uncle made his for you me him".split()


def attention(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of scaled_dot_product_attention: without a mask, causal, padding, any."""
    arguments = []
    for kind in ("none", "causal", "padding", "any", "wide"):
        B, T, S = 2, int(rng.integers(2, 7)), int(rng.integers(2, 7))
        S = T if kind == "causal" else S
        d, m = int(rng.integers(2, 17)), int(rng.integers(1, 6))
        heads = (B, 3) if kind == "wide" else (B,)
        q, k = 2 * rng.normal(size=(*heads, T, d)), 2 * rng.normal(size=(*heads, S, d))
        some = rng.random((B, T, S)) < 0.6
        some[0, 1] = False  # one row may not look anywhere
        mask = {
            "none": None,
            "causal": np.tri(T, S, dtype=bool),
            "padding": np.arange(S) < np.array([[[1]], [[S]]]),
            "any": some,
            "wide": rng.random((B, 1, T, S)) < 0.7,
        }[kind]
        if kind == "any":
            q, k = q + 5, k - 5  # scores far below 0: masking with a moderately low number fails
        arguments.append([q, k, rng.normal(size=(*heads, S, m)), mask])
    return arguments


def heads(rng: np.random.Generator) -> tuple[list[list[Any]], list[list[Any]]]:
    """Draw arguments of split_heads and of merge_heads, in several sizes."""
    sizes = [tuple(int(n) for n in rng.integers(1, 6, size=4)) for _ in range(3)]
    sizes += [(2, 3, 4, 5), (2, 4, 3, 2)]  # B, heads, T, hs: all different
    split = [[rng.normal(size=(B, T, n * hs)), n] for B, n, T, hs in sizes]
    return split, [[rng.normal(size=size)] for size in sizes]


def masks(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of attention_mask."""
    arguments: list[list[Any]] = []
    for kind in ("encoder", "decoder", "encoder-decoder"):
        for B in (1, 4):
            S = int(rng.integers(3, 9))
            T = S + int(rng.integers(1, 4)) if kind == "encoder-decoder" else S
            arguments.append([kind, T, S, rng.integers(1, S + 1, size=B)])
    for S in (5, 8):
        lengths = np.array([S, S - 1, S - 1, int(rng.integers(1, S + 1))])
        prefixes = np.array([0, 2, S - 1, int(rng.integers(0, lengths[3] + 1))])
        arguments.append(["prefix-lm", S, S, lengths, prefixes])
    return arguments


def late_masks(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of masked_softmax: each query may look at the first key at least."""
    arguments: list[list[Any]] = []
    for shape in ((3, 4), (2, 5, 3), (2, 3, 4, 4)):
        mask = rng.random(shape[-2:]) < 0.5
        mask[:, 0] = True
        arguments += [[2 * rng.normal(size=shape), mask, when] for when in ("before", "after")]
    return arguments


def memories(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of cross_attention: Z, H, Q, K, V."""
    arguments = []
    for _ in range(4):
        d, T_z = (int(n) for n in rng.integers(2, 7, size=2))
        T_h = T_z + int(rng.integers(1, 4))
        shapes = [(T_z, d), (T_h, d), (d, d), (d, d), (d, d)]
        arguments.append([rng.normal(size=shape) for shape in shapes])
    return arguments


def encodings(t: np.ndarray, d: int) -> np.ndarray:
    """Compute sinusoidal encodings of any positions, shape (len(t), d)."""
    columns = np.arange(d)
    angles = np.outer(t, 10000.0 ** (-(columns - columns % 2) / d))
    return np.where(columns % 2, np.cos(angles), np.sin(angles))


def products(x: np.ndarray) -> np.ndarray:
    """Compute dot products of all pairs of rows; they are infinite where they overflow."""
    with np.errstate(all="ignore"):
        return x @ x.T


def embeddings(rng: np.random.Generator) -> tuple[list[list[Any]], list[list[Any]]]:
    """Draw arguments of position_scores and of relative_bias."""
    pairs = [rng.normal(size=(2, *rng.integers(2, 8, size=2))) for _ in range(4)]
    return [[x, p, how] for x, p in pairs for how in ("add", "concatenate")], [
        [p] for _, p in pairs
    ]


def relative_biases(rng: np.random.Generator) -> tuple[list[list[Any]], list[list[Any]]]:
    """Draw arguments of relative_bias_parameters and of relative_bias_matrix."""
    counts: list[list[Any]] = []
    for _ in range(4):
        T, m = int(rng.integers(3, 600)), int(rng.integers(1, 33))
        counts += [[T, m], [T, m, int(rng.integers(1, T))], [T, m, 0]]
    sizes = [(2, 3, 9), (1, 5, 4), (4, 1, 6), (3, 7, 8)]  # heads, k, T
    return counts, [[rng.normal(size=(n, 2 * k + 1)), T] for n, k, T in sizes]


def distances(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of relative_buckets: all distances up to 40 and some longer, in any order."""
    arguments: list[list[Any]] = []
    for n_buckets, reach in ((32, 128), (16, 100), (64, 300), (8, 20)):
        for causal in (False, True):
            far = rng.integers(-3 * reach, 3 * reach, size=60)
            given = rng.permutation(np.concatenate([np.arange(-40, 41), far]))
            arguments.append([given, n_buckets, reach, causal])
    return arguments


def rotations(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of rotate: positions in any order, several heads."""
    arguments: list[list[Any]] = []
    for shape in ((5, 8), (2, 6, 4), (2, 3, 7, 10)):
        for pairing in ("adjacent", "half"):
            positions = rng.integers(0, 300, size=shape[-2])
            arguments.append([rng.normal(size=shape), positions, pairing])
    return arguments


def norms(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of layer_norm; eps matters for short vectors."""
    arguments: list[list[Any]] = []
    for shape in ((7,), (3, 5), (2, 3, 4)):
        x = 0.1 * rng.normal(size=shape) + 1
        gain, bias = rng.normal(size=(2, shape[-1]))
        arguments += [[x], [x, gain, bias, 0.01], [x, None, bias], [x, gain, None, 0.1]]
    return arguments


def layers(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of block: attention averages positions, the MLP multiplies channels."""
    arguments: list[list[Any]] = []
    for norm in ("pre", "post"):
        for T, C in ((4, 6), (3, 5)):
            average = np.tri(T) / np.arange(1, T + 1)[:, None]
            mlp = rng.normal(size=(C, C))
            arguments.append([rng.normal(size=(2, T, C)), {"mixed_by": average}, {"times": mlp}])
            arguments[-1].append(norm)
    return arguments


def stacks(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of gradient_at_input: layers mix channels or positions, or are nonlinear."""
    arguments: list[list[Any]] = []
    for depth in (1, 3, 6):
        T, C = (int(n) for n in rng.integers(2, 6, size=2))
        layers = [
            {"times": rng.normal(size=(C, C))},
            {"tanh_of": rng.normal(size=(C, C))},
            {"mixed_by": rng.normal(size=(T, T))},
        ]
        chosen = (layers * 2)[:depth]
        x, gradient = rng.normal(size=(2, T, C))
        arguments += [[x, chosen, gradient, residual] for residual in (True, False)]
    return arguments


def configs(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of count_parameters: each variant, and a model too large to make."""
    found: list[list[Any]] = []
    for variant in ({}, {"synthesizer": True}, {"rope": True}, {}):
        vocab_size, block_size, n_layer, heads, hs = rng.integers(2, 100, size=5).tolist()
        fields = {"vocab_size": vocab_size, "block_size": block_size, "n_layer": n_layer}
        found.append([{"config": fields | {"n_head": heads, "n_embd": 2 * heads * hs} | variant}])
    large = {"vocab_size": 50_257, "block_size": 2048, "n_layer": 96, "n_head": 96}
    return [*found, [{"config": large | {"n_embd": 12_288}}]]


def spans(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of span_corruption: no span, spans at both ends, the most there can be."""
    arguments: list[list[Any]] = [[WORDS[:4], []], [WORDS[:4], [[0, 4]]]]
    arguments.append([WORDS[:5], [[0, 2], [3, 5]]])
    for count in (1, 2, 3, 25):
        # The borders of spans are 2 * count different places, with a token between two spans.
        borders = np.sort(rng.choice(3 * count, size=2 * count, replace=False))
        places = [int(border) + i // 2 for i, border in enumerate(borders)]
        text = [str(word) for word in rng.choice(WORDS, size=places[-1] + int(rng.integers(3)))]
        arguments.append([text, [places[i : i + 2] for i in range(0, 2 * count, 2)]])
    return arguments


def masked(rng: np.random.Generator, sizes: list[tuple[int, int]]) -> list[list[Any]]:
    """Draw arguments of bert_mask: the mask is 1, tokens are 2 .. 99 of a vocabulary of 1000."""
    return [
        [rng.integers(2, 100, size=size), 1, 1000, {"seed": int(rng.integers(2**31))}]
        for size in sizes
    ]


def texts(rng: np.random.Generator) -> list[list[Any]]:
    """Draw arguments of perplexity: short texts, improbable ones, one of 100,000 tokens."""
    long = np.log(rng.uniform(0.001, 1, size=100_000))
    # The second has a probability of e^-1800 and a perplexity of e^45, which fits in float32.
    arguments: list[list[Any]] = [[long, 80_000], [np.full(30, -60.0), 40]]
    for _ in range(4):
        log_probs = np.log(rng.uniform(0.01, 1, size=int(rng.integers(1, 100))))
        arguments.append([log_probs, int(rng.integers(1, 1 + len(log_probs)))])
    return arguments


def reached(distances: list[np.ndarray]) -> set[int]:
    """Compute how far back the positions are on which an output depends.

    Args:
        distances: for each level, how far back each of its heads looks.
    """
    found = {0}
    for level in distances:
        found |= {f + int(d) for f in found for d in level}
    return found
