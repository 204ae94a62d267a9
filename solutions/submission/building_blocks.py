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
    scores = q @ k.mT / math.sqrt(q.size(-1))  # (..., T, S)
    if mask is None:
        return scores.softmax(dim=-1) @ v
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    # A row of -inf has the softmax 0/0.
    return weights.masked_fill(~mask, 0.0) @ v
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
    B, T, C = x.shape
    return x.view(B, T, n_head, C // n_head).transpose(1, 2)
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
    return x.transpose(1, 2).flatten(2)
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
    real = torch.arange(S) < lengths[:, None]  # (B, S)
    mask = real[:, None, :].repeat(1, T, 1)
    if kind == "decoder":
        return mask.tril()
    if prefixes is None:
        return mask
    in_prefix = torch.arange(S) < prefixes[:, None, None]  # (B, 1, S)
    return mask.tril() | mask & in_prefix
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
    scores = (Z @ Q) @ (H @ K).mT  # (T_z, T_h)
    return scores.softmax(dim=-1) @ (H @ V)
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
    if when == "before":
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)
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
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    y = centred / (variance + eps).sqrt()
    y = y if gain is None else gain * y
    return y if bias is None else y + bias
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
    if norm == "pre":
        x = x + attention(layer_norm(x))
        return x + mlp(layer_norm(x))
    x = layer_norm(x + attention(x))
    return layer_norm(x + mlp(x))
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
    start = x.detach().clone().requires_grad_()
    z = start
    for layer in layers:
        z = z + layer(z) if residual else layer(z)
    return torch.autograd.grad(z, start, gradient)[0]
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
    return (heads + 1) ** levels
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
    # Distances are numbers in base heads + 1, and each level chooses one digit.
    return [digit * (heads + 1) ** level for digit in range(1, heads + 1)]
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
    queries = M if kind == "encoder" else N
    keys = N if kind == "decoder" else M
    return 2 * queries * keys * k
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
    C, hs = config.n_embd, config.n_embd // config.n_head
    linear, norm = C * C + C, 2 * C
    attention = 4 * linear  # queries, keys, values, output
    if config.synthesizer:
        attention = 3 * linear + (hs + 1) * config.block_size
    mlp = (4 * C * C + 4 * C) + (4 * C * C + C)
    positions = 0 if config.rope else config.block_size * C
    blocks = config.n_layer * (2 * norm + attention + mlp)
    return 2 * config.vocab_size * C + positions + blocks + norm
    ### END CODE HERE ###
