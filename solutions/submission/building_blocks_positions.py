"""Building blocks of positions: encodings, relative biases and rotations, as short functions.

Tensors are torch tensors; those in the grader's tests are float64. There are T positions and d
channels. Functions must not modify their arguments, which the caller still needs.

Papers: [1] Vaswani et al. 2017; [2] Shaw et al. 2018; [3] Raffel et al. 2020 (T5); [4] Su et al.
2021 (RoFormer).
"""

import math

import torch


def sinusoidal_positions(T: int, d: int) -> torch.Tensor:
    """Return the position encodings of section 3.5 of [1].

    Columns 2k and 2k + 1 of row t are sin(omega_k t) and cos(omega_k t), where
    omega_k = 10000^(-2k/d), k = 0 .. d/2 - 1.

    Args:
        T: the number of positions; the first is t = 0.
        d: the number of channels, even.

    Returns:
        shape (T, d), float64.
    """
    # [blocks sinusoids]
    ### START CODE HERE ###
    omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)  # (d/2,)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * omega  # (T, d/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    ### END CODE HERE ###


def offset_matrix(offset: int, d: int) -> torch.Tensor:
    """Return the matrix M with p(t + offset) = M p(t) for every t, p(t) as in sinusoidal_positions.

    Args:
        offset: how many positions to move; it may be negative.
        d: the number of channels, even.

    Returns:
        shape (d, d), float64; p(t) is a column vector here.
    """
    # [blocks offsets]
    ### START CODE HERE ###
    omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    sin, cos = (omega * offset).sin(), (omega * offset).cos()
    turns = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)
    return torch.block_diag(*turns)  # of (d/2, 2, 2)
    ### END CODE HERE ###


def position_scores(x: torch.Tensor, p: torch.Tensor, how: str) -> torch.Tensor:
    """Return all scores z_i . z_j, where queries and keys are z = x + p or z = [x, p].

    Args:
        x, p: embeddings of words and of positions, shape (T, d) each.
        how: "add" or "concatenate".

    Returns:
        shape (T, T).
    """
    # [blocks add or concatenate]
    ### START CODE HERE ###
    if how == "add":
        z = x + p  # x.x + x.p + p.x + p.p
    else:
        z = torch.cat([x, p], dim=-1)  # x.x + p.p
    return z @ z.mT
    ### END CODE HERE ###


def relative_bias(p: torch.Tensor) -> torch.Tensor:
    """Return the bias that, added to the scores x_i . x_j, gives those of "concatenate".

    Args:
        p: embeddings of positions, shape (T, d).

    Returns:
        shape (T, T).
    """
    # [blocks add or concatenate]
    ### START CODE HERE ###
    return p @ p.mT
    ### END CODE HERE ###


def relative_bias_parameters(T: int, heads: int, clip: int | None = None) -> int:
    """Return how many biases a layer learns if they depend only on the head and on j - i.

    Args:
        T: the number of positions.
        heads: m; each has its own biases.
        clip: from 0 to T - 1. Longer distances use the bias of this one, in the same direction.
            None: each distance has its own.
    """
    # [blocks relative bias]
    ### START CODE HERE ###
    farthest = T - 1 if clip is None else clip
    return (2 * farthest + 1) * heads
    ### END CODE HERE ###


def relative_bias_matrix(biases: torch.Tensor, T: int) -> torch.Tensor:
    """Return the biases added to the scores of query i and key j, one per head (scalars: [3]).

    Args:
        biases: shape (heads, 2k + 1), for j - i = -k .. k in this order. Distances longer than k
            use the bias of k, in the same direction (section 3.2 of [2]).
        T: the number of positions.

    Returns:
        shape (heads, T, T); row i, column j.
    """
    # [blocks relative bias]
    ### START CODE HERE ###
    k = biases.size(1) // 2
    positions = torch.arange(T)
    distances = positions[None, :] - positions[:, None]  # j - i
    return biases[:, distances.clamp(-k, k) + k]
    ### END CODE HERE ###


def relative_buckets(
    distances: torch.Tensor, n_buckets: int = 32, max_distance: int = 128, causal: bool = False
) -> torch.Tensor:
    """Return each distance's bucket, for which T5 learns a bias (its code; section 2.1 of [3]).

    Unless causal, buckets 0 .. n_buckets/2 - 1 are for keys up to the query, and the others, in
    the same order, for keys after it. If causal, all are for keys up to the query; keys after it,
    which are masked anyway, get bucket 0.

    Let b be the number of buckets in one direction. The first b/2 are for the distances
    0 .. b/2 - 1, one each. The next b/2 divide the distances from b/2 to max_distance into ranges
    of equal width on a logarithmic scale: each ends at the same multiple of its beginning, and
    includes its beginning but not its end. The last range includes all larger distances, too.

    Example: with 32 buckets, max_distance 128 and not causal, b is 16, and the ranges begin at 8,
    8 sqrt(2), 16, 16 sqrt(2) and so on. A key 11 positions before the query has bucket 8, one 12
    positions before it bucket 9, one 12 positions after it bucket 25.

    Args:
        distances: j - i of key j and query i, any shape, long. Where b/2 < |j - i| and a range
            begins at exactly |j - i|, the bucket below is accepted, too, as rounding decides.
        n_buckets: a multiple of 4, or of 2 if causal.
        max_distance: larger than b/2.

    Returns:
        the shape of distances, long.
    """
    # [blocks buckets]
    ### START CODE HERE ###
    b = n_buckets if causal else n_buckets // 2
    exact = b // 2
    far = -distances.clamp(max=0) if causal else distances.abs()
    # The logarithm of distances below `exact` isn't used: 1 keeps it finite.
    ratio = (far.double() / exact).clamp(min=1.0).log() / math.log(max_distance / exact)
    wide = (exact + (ratio * (b - exact)).long()).clamp(max=b - 1)
    buckets = torch.where(far < exact, far, wide)
    return buckets if causal else buckets + b * (distances > 0)
    ### END CODE HERE ###


def rotate(x: torch.Tensor, positions: torch.Tensor, pairing: str = "adjacent") -> torch.Tensor:
    """Apply rotary positions (section 3.2 of [4]): rotate pairs of channels.

    At position i, pair k is rotated anticlockwise by the angle i theta_k, where
    theta_k = 10000^(-2k/d), k = 0 .. d/2 - 1. In two dimensions the vector (1, 0) at position i
    becomes (cos i, sin i).

    Args:
        x: queries or keys, shape (..., T, d), d even.
        positions: the position i of each row, shape (T,), long.
        pairing: which channels form pair k: "adjacent", 2k and 2k + 1 (the paper), or "half",
            k and k + d/2 (rotate_half in most libraries).

    Returns:
        the shape of x.
    """
    # [blocks rotation]
    ### START CODE HERE ###
    d = x.size(-1)
    theta = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = positions[:, None] * theta  # (T, d/2)
    sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)
    if pairing == "adjacent":
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    ### END CODE HERE ###
