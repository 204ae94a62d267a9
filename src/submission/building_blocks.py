"""Building blocks: what the lectures say about attention and Transformers, as short functions.

Tensors are torch's; those of the grader's tests are float64. B sequences, T positions, C channels,
hs = C / n_head of each head. Masks are True where a query may look. No function changes its
arguments: whoever called it still needs them. What the lectures say about positions and about
pretraining has modules of its own, building_blocks_positions.py and building_blocks_pretraining.py.

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
    """Return scaled dot-product attention, equation 1 of [1]: a weighted sum of values per query.

    The scores are dot products of queries and keys divided by sqrt(d); the weights are their
    softmax over the keys.

    Example: dot products of 112 and 96 with d = 64 are the scores 14 and 12, and their softmax is
    .88 and .12.

    Args:
        q: queries, shape (..., T, d).
        k, v: keys, shape (..., S, d), and values, shape (..., S, m).
        mask: bool, of a shape that broadcasts to (..., T, S); True where a query may look. None:
            everywhere. A query that may look nowhere gets zeros.

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
    """Return where each query may look: in the attentions of an encoder-decoder, in a prefix LM.

    Args:
        kind: "encoder" (a sequence looks at all of itself), "decoder" (at itself, up to the
            query's own position), "encoder-decoder" (the decoder's queries look at all of the
            encoder's output) or "prefix-lm" (every query looks at all of the sequence's prefix
            and, like a decoder's, at what comes up to its own position).
        T, S: the number of queries and of keys, which are equal except for "encoder-decoder".
        lengths: how many of each sequence's keys are real, shape (B,), long; the others are
            padding, at the end, at which no query looks.
        prefixes: how many positions each sequence's prefix has, from 0 up to its length, shape
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
    """Return the output of one head of cross-attention, without a division by sqrt(d).

    Args:
        Z: inputs to the decoder's layer, shape (T_z, d); multiplied by Q they are the queries.
        H: outputs of the encoder, shape (T_h, d); multiplied by K they are the keys, multiplied
            by V the values.
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
    """Return attention weights that hide keys from queries, before the softmax or after it.

    With "before", hidden scores become -inf, and the softmax is taken of what that gives. With
    "after", the softmax of all scores is taken, and hidden weights become 0.

    Example: of three equal scores, the last one hidden, the weights are 1/2, 1/2, 0 with "before",
    and 1/3, 1/3, 0 with "after".

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
    """Return every vector along the last axis with mean 0 and (nearly) variance 1 [2].

    What is normalised is then multiplied by the gain, and the bias is added. The variance is the
    mean of the squared deviations, a sum divided by d.

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
    """Apply a Transformer block: attention, then the feed-forward part, each with a residual.

    Norms are layer_norm without gain and bias. Table 1 of [3]: with "pre" each part sees a
    normalised input, and its output is added to the input as it was; with "post" each part sees
    its input as it is, and the sum of both is normalised.

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

    A layer turns its input z into layer(z); with residual connections, into z + layer(z).

    Example: 32 layers that halve their inputs pass on 2^-32 of a gradient; with residual
    connections they multiply it by 1.5^32.

    Args:
        x: the input of the first layer, shape (T, C).
        layers: functions from (T, C) to (T, C), the first one first.
        gradient: of the loss by the output of the last layer, shape (T, C).
        residual: whether there are residual connections.

    Returns:
        the gradient of the loss by x, shape (T, C).
    """
    # [blocks residuals]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks residuals] gradient_at_input in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def receptive_field(heads: int, levels: int) -> int:
    """Return on how many positions of the input one output can depend, at most.

    Each head of each position looks at a single position, which is given (an argmax in place of
    the softmax), and residual connections keep the position itself.

    Args:
        heads: in each level.
        levels: how many there are, 1 or more.
    """
    # [blocks receptive field]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks receptive field] receptive_field"
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def looks_back(heads: int, level: int) -> list[int]:
    """Return how far back each head of a level looks for the receptive field to be the largest.

    All positions look equally far back: head j of position t at position t - looks_back(...)[j].

    Args:
        heads: in each level.
        level: 0 is the lowest.

    Returns:
        a distance for each head, 0 or more. With those of levels 0 .. n - 1, an output depends on
        receptive_field(heads, n) different positions.
    """
    # [blocks receptive field]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks receptive field] looks_back in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def attention_multiply_adds(kind: str, M: int, N: int, k: int) -> int:
    """Return the multiplications, each with its addition, of scores and of weighted sums.

    Projections, the softmax and masks don't count (masked scores are computed, too).

    Args:
        kind: "encoder", "encoder-decoder" or "decoder", as in attention_mask.
        M, N: length of the encoder's and of the decoder's sequence.
        k: channels of all heads together.
    """
    # [blocks cost]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks cost] attention_multiply_adds in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def count_parameters(config: GPTConfig) -> int:
    """Return how many parameters GPT(config) has, without making the model.

    Example: with 1 layer of 1 head and 2 channels, 3 ids and 5 positions there are 100.

    Args:
        config: of src/submission/model.py, which shows the layers. The dropouts have no
            parameters; buffers such as the causal mask are none.
    """
    # [blocks parameters]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks parameters] count_parameters in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###
