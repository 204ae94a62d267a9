"""Building blocks: what the lectures say about attention and Transformers, as short functions.

Tensors are torch's; those of the grader's tests are float64. B sequences, T positions, C channels,
hs = C / n_head of each head. Masks are True where a query may look. No function changes its
arguments: whoever called it still needs them.

Papers: [1] Vaswani et al. 2017; [2] Shaw et al. 2018; [3] Raffel et al. 2020 (T5); [4] Su et al.
2021 (RoFormer); [5] Ba et al. 2016; [6] Xiong et al. 2020; [7] Devlin et al. 2019 (BERT).
"""

import math
from collections.abc import Callable

import torch

SENTINELS = tuple(f"<{letter}>" for letter in "XYZABCDEFGHIJKLMNOPQRSTUVW")
IGNORED = -100  # a target that torch's cross_entropy leaves out


def scaled_dot_product_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """softmax(q k^T / sqrt(d)) v, equation 1 of [1].

    Example: scores q.k of 112 and 96 at d = 64 are 14 and 12 once divided by 8, and their softmax
    is .88 and .12.

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


def attention_mask(kind: str, T: int, S: int, lengths: torch.Tensor) -> torch.Tensor:
    """Where each query may look, for the three attentions of an encoder-decoder.

    Args:
        kind: "encoder" (a sequence looks at all of itself), "decoder" (at itself, up to the
            query's own position) or "encoder-decoder" (the decoder's queries look at all of the
            encoder's output).
        T, S: the number of queries and of keys; equal but for "encoder-decoder".
        lengths: how many of each sequence's keys are real, shape (B,), long; the others are
            padding, at the end, at which nobody looks.

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
    """softmax(ZQ (HK)^T) HV, as the lecture has it: one head, no sqrt.

    Args:
        Z: inputs of the decoder, shape (T_z, d); they become queries.
        H: outputs of the encoder, shape (T_h, d); they become keys and values.
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


def sinusoidal_positions(T: int, d: int) -> torch.Tensor:
    """Position encodings of section 3.5 of [1].

    Columns 2k and 2k + 1 of row t are sin(omega_k t) and cos(omega_k t), where
    omega_k = 10000^(-2k/d), k = 0 .. d/2 - 1.

    Args:
        T: how many positions, from t = 0.
        d: the number of channels, even.

    Returns:
        shape (T, d), float64.
    """
    # [blocks sinusoids]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks sinusoids] sinusoidal_positions in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def offset_matrix(offset: int, d: int) -> torch.Tensor:
    """Return the matrix M with p(t + offset) = M p(t) for every t, p(t) as in sinusoidal_positions.

    Hint: sin(a + b) = sin a cos b + cos a sin b, cos(a + b) = cos a cos b - sin a sin b.

    Args:
        offset: how many positions further; it may be negative.
        d: the number of channels, even.

    Returns:
        shape (d, d), float64; for column vectors p(t).
    """
    # [blocks offsets]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks offsets] offset_matrix in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def position_scores(x: torch.Tensor, p: torch.Tensor, how: str) -> torch.Tensor:
    """Scores z_i . z_j of all pairs, where queries and keys are z = x + p or z = [x, p].

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
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def relative_bias(p: torch.Tensor) -> torch.Tensor:
    """Return what to add to the scores x_i . x_j to get those of "concatenate".

    Args:
        p: embeddings of positions, shape (T, d).

    Returns:
        shape (T, T).
    """
    # [blocks add or concatenate]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks add or concatenate] relative_bias"
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def relative_bias_parameters(T: int, heads: int, clip: int | None = None) -> int:
    """How many biases a layer learns that depend on the head and on j - i alone.

    Args:
        T: the number of positions.
        heads: m; each has biases of its own.
        clip: from 0 to T - 1. Distances beyond it take its bias, in their direction. None: each
            distance has its own.
    """
    # [blocks relative bias]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks relative bias] relative_bias_parameters"
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def relative_bias_matrix(biases: torch.Tensor, T: int) -> torch.Tensor:
    """Return the biases added to the scores of query i and key j, one a head (scalars: [3]).

    Args:
        biases: shape (heads, 2k + 1): those of j - i = -k .. k, in this order. Distances beyond k
            take the bias of k, in their direction.
        T: the number of positions.

    Returns:
        shape (heads, T, T); row i, column j.
    """
    # [blocks relative bias]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks relative bias] relative_bias_matrix"
        " in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def rotate(x: torch.Tensor, positions: torch.Tensor, pairing: str = "adjacent") -> torch.Tensor:
    """Rotary position embedding, section 3.2 of [4]: turn each pair of channels by i theta_k.

    theta_k = 10000^(-2k/d), k = 0 .. d/2 - 1. A pair (a, b) becomes
    (a cos - b sin, a sin + b cos). In two dimensions the vector (1, 0) at position i becomes
    (cos i, sin i).

    Args:
        x: queries or keys, shape (..., T, d), d even.
        positions: i of each row, shape (T,), long.
        pairing: which channels are pair k: "adjacent", 2k and 2k + 1 (the paper), or "half",
            k and k + d/2 (rotate_half, most libraries).

    Returns:
        the shape of x.
    """
    # [blocks rotation]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks rotation] rotate in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def layer_norm(
    x: torch.Tensor,
    gain: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """gain (x - mean) / sqrt(variance + eps) + bias, over the last axis [5].

    The mean is sum_j x_j / d, the variance sum_j (x_j - mean)^2 / d: every vector has mean 0 and
    (nearly) variance 1 before gain and bias.

    Args:
        x: shape (..., d).
        gain, bias: shape (d,), or None for ones and zeros.
        eps: added to the variance.

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

    Norms are layer_norm without gain and bias. Table 1 of [6]: with "pre" each part sees a
    normalised input and its output is added to what came in; with "post" the sum is normalised.

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


def span_corruption(tokens: list[str], spans: list[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """T5's objective, section 3.1.4 of [3]: one sentinel for each span that is taken out.

    Example: "Thank you for inviting me to your party last week" without (2, 4) and (8, 9) is the
    input "Thank you <X> me to your party <Y> week" and the target "<X> for inviting <Y> last <Z>".

    Args:
        tokens: the text.
        spans: (start, end) of each, end exclusive; in order, not empty, with at least one token
            between two of them; fewer than there are SENTINELS.

    Returns:
        input and target. The target ends with the sentinel after the last one used.
    """
    # [blocks sentinels]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks sentinels] span_corruption in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def bert_mask(
    tokens: torch.Tensor, mask_id: int, vocab_size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """BERT's objective, section 3.1 of [7]: predict 15 % of the tokens.

    Each token is chosen with probability .15. Of those chosen, 80 % are replaced by mask_id, 10 %
    by a token drawn from all of the vocabulary, 10 % stay as they are. No token moves: position t
    is still position t, and the target there is the token that was there.

    Args:
        tokens: ids, shape (B, T), long; not to be changed.
        mask_id: the id that stands for a masked token.
        vocab_size: ids are 0 .. vocab_size - 1.
        generator: draws every random number.

    Returns:
        inputs and targets, shape (B, T), long. The target is IGNORED where no token was chosen.
    """
    # [blocks bert mask]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks bert mask] bert_mask in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def perplexity(log_probs: torch.Tensor, n_words: int) -> float:
    """P(text)^(-1/N): how many words the model hesitates between, so to speak.

    Args:
        log_probs: natural logarithm of the probability of each token given those before, shape
            (number of tokens,). There may be 100,000 of them: P itself is 0 in any dtype.
        n_words: N. Words may consist of several tokens.
    """
    # [blocks perplexity]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks perplexity] perplexity in submission/building_blocks.py is yours to write"
    )
    ### END CODE HERE ###


def receptive_field(heads: int, levels: int) -> int:
    """On how many positions of the input one output can depend, at most.

    Each head looks at a single position (argmax in place of softmax), and residual connections
    keep the position itself.

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
    """How far back each head of a level looks, for the receptive field to be as large as it can.

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
    """Multiplications (each with its addition) of one attention: scores, then weighted sums.

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
