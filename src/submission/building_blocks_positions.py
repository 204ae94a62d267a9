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
    raise NotImplementedError(
        "[blocks sinusoids] sinusoidal_positions"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks offsets] offset_matrix"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks add or concatenate] position_scores"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks add or concatenate] relative_bias"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks relative bias] relative_bias_parameters"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks relative bias] relative_bias_matrix"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks buckets] relative_buckets"
        " in submission/building_blocks_positions.py is yours to write"
    )
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
    raise NotImplementedError(
        "[blocks rotation] rotate in submission/building_blocks_positions.py is yours to write"
    )
    ### END CODE HERE ###
