"""Building blocks from the lectures on attention and Transformers, as short functions.

Tensors are torch tensors; those in the grader's tests are float64. There are B sequences, T
positions and C channels, of which each head has hs = C / n_head. Masks are True where a query may
look. Functions must not modify their arguments, which the caller still needs. Positions and
pretraining have modules of their own, building_blocks_positions.py and
building_blocks_pretraining.py.

Papers: [1] Vaswani et al. 2017; [2] Ba et al. 2016; [3] Xiong et al. 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .model import GPTConfig


def scaled_dot_product_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Return scaled dot-product attention (equation 1 of [1]): one weighted sum per query.

    The scores are dot products of queries and keys divided by sqrt(d); the weights are their
    softmax over the keys.

    Example: dot products of 112 and 96 with d = 64 give the scores 14 and 12, whose softmax is .88
    and .12.

    Args:
        q: queries, shape (..., T, d).
        k, v: keys, shape (..., S, d), and values, shape (..., S, m).
        mask: bool, of a shape that broadcasts to (..., T, S); True where a query may look. None
            means everywhere. A query that may not look anywhere gets zeros.

    Returns:
        shape (..., T, m).
    """
    # [blocks attention]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks attention] scaled_dot_product_attention"
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def split_heads(x: torch.Tensor, n_head: int) -> torch.Tensor:
    """Give each head its share of the channels: the first C/n_head to head 0, and so on.

    Args:
        x: shape (B, T, C), where n_head divides C.

    Returns:
        shape (B, n_head, T, C/n_head).
    """
    # [blocks heads]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks heads] split_heads in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads side by side again: the inverse of split_heads.

    Args:
        x: shape (B, n_head, T, hs), in any order in memory.

    Returns:
        shape (B, T, n_head hs).
    """
    # [blocks heads]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks heads] merge_heads in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def attention_mask(
    kind: str, T: int, S: int, lengths: torch.Tensor, prefixes: torch.Tensor | None = None
) -> torch.Tensor:
    """Return where each query may look, in an encoder-decoder or in a prefix LM.

    Args:
        kind: "encoder" (each query looks at the whole sequence), "decoder" (at positions up to its
            own), "encoder-decoder" (the decoder's queries look at the encoder's whole output) or
            "prefix-lm" (each query looks at the sequence's whole prefix and, as in a decoder, at
            positions up to its own).
        T, S: the number of queries and of keys, which are equal except for "encoder-decoder".
        lengths: how many of each sequence's keys are real, shape (B,), long; the others are
            padding at the end, at which no query may look.
        prefixes: the length of each sequence's prefix, from 0 to the sequence's length, shape
            (B,), long; None unless kind is "prefix-lm".

    Returns:
        shape (B, T, S), bool.
    """
    # [blocks masks]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks masks] attention_mask in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def cross_attention(
    Z: torch.Tensor, H: torch.Tensor, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor
) -> torch.Tensor:
    """Return the output of one head of cross-attention; scores are not divided by sqrt(d).

    Args:
        Z: inputs to the decoder layer, shape (T_z, d); the queries are Z Q.
        H: outputs of the encoder, shape (T_h, d); the keys are H K, and the values H V.
        Q, K, V: shape (d, d).

    Returns:
        shape (T_z, d).
    """
    # [blocks masks]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks masks] cross_attention in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor, when: str) -> torch.Tensor:
    """Return attention weights, with keys hidden from queries before or after the softmax.

    With "before", hidden scores become -inf, and then the softmax is computed. With "after", the
    softmax of all scores is computed, and then hidden weights become 0.

    Example: three equal scores, the last of which is hidden, give the weights 1/2, 1/2, 0 with
    "before", and 1/3, 1/3, 0 with "after".

    Args:
        scores: shape (..., T, S).
        mask: bool, of a shape that broadcasts to (..., T, S); True where a query may look. Each
            query may look somewhere.
        when: "before" or "after".

    Returns:
        shape (..., T, S).
    """
    # [blocks late mask]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks late mask] masked_softmax in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def layer_norm(
    x: torch.Tensor,
    gain: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Normalise each vector along the last axis to mean 0 and (nearly) variance 1 [2].

    The result is then multiplied by the gain, and the bias is added. The variance is the mean of
    the squared deviations: their sum divided by d.

    Args:
        x: shape (..., d).
        gain, bias: shape (d,), or None for ones and zeros.
        eps: added to the variance; it keeps the result finite for a vector of equal numbers.

    Returns:
        the shape of x.
    """
    # [blocks layers]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks layers] layer_norm in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def block(
    x: torch.Tensor,
    attention: Callable[[torch.Tensor], torch.Tensor],
    mlp: Callable[[torch.Tensor], torch.Tensor],
    norm: str,
) -> torch.Tensor:
    """Apply a Transformer block: attention, then the MLP, each with a residual connection.

    Norms are layer_norm without gain and bias. As in table 1 of [3], with "pre" each part gets its
    input normalised, and its output is added to the input before normalisation; with "post" each
    part gets its input unchanged, and the sum of input and output is normalised.

    Args:
        x: shape (B, T, C).
        attention, mlp: functions from (B, T, C) to (B, T, C).
        norm: "pre" or "post".

    Returns:
        shape (B, T, C).
    """
    # [blocks layers]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks layers] block in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def gradient_at_input(
    x: torch.Tensor,
    layers: list[Callable[[torch.Tensor], torch.Tensor]],
    gradient: torch.Tensor,
    residual: bool,
) -> torch.Tensor:
    """Return the gradient that reaches the input of a stack of layers.

    A layer turns its input z into layer(z) or, with residual connections, into z + layer(z).

    Example: 32 layers that halve their inputs multiply a gradient by 2^-32; with residual
    connections, they multiply it by 1.5^32.

    Args:
        x: the input of the first layer, shape (T, C).
        layers: functions from (T, C) to (T, C), in the order in which they are applied.
        gradient: of the loss with respect to the output of the last layer, shape (T, C).
        residual: whether there are residual connections.

    Returns:
        the gradient of the loss with respect to x, shape (T, C).
    """
    # [blocks residuals]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks residuals] gradient_at_input in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def receptive_field(heads: int, levels: int) -> int:
    """Return the largest number of input positions on which one output can depend.

    Each head at each position looks at a single, given position (an argmax instead of the
    softmax), and residual connections keep the position itself.

    Args:
        heads: the number of heads in each level.
        levels: the number of levels, 1 or more.
    """
    # [blocks receptive field]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks receptive field] receptive_field"
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def looks_back(heads: int, level: int) -> list[int]:
    """Return how far back each head of a level looks if the receptive field is the largest.

    This is the same for all positions: head j at position t looks at t - looks_back(...)[j].

    Args:
        heads: the number of heads in each level.
        level: 0 is the lowest.

    Returns:
        a distance for each head, 0 or more. With the distances of levels 0 .. n - 1, an output
        depends on receptive_field(heads, n) different positions.
    """
    # [blocks receptive field]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks receptive field] looks_back in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def attention_multiply_adds(kind: str, M: int, N: int, k: int) -> int:
    """Return the number of multiply-adds for the scores and the weighted sums.

    Projections, the softmax and masks don't count (masked scores are computed, too).

    Args:
        kind: "encoder", "encoder-decoder" or "decoder", as in attention_mask.
        M, N: the lengths of the encoder's and of the decoder's sequence.
        k: the number of channels of all heads together.
    """
    # [blocks cost]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks cost] attention_multiply_adds in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def count_parameters(config: GPTConfig) -> int:
    """Return the number of parameters of GPT(config), without making the model.

    Example: 1 layer with 1 head and 2 channels, 3 ids and 5 positions give 100 parameters.

    Args:
        config: see src/submission/model.py, which also has the layers. Dropouts have no
            parameters, and buffers such as the causal mask are not parameters.
    """
    # [blocks parameters]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks parameters] count_parameters in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###
