"""Multi-head causal self-attention: with dot products (vanilla) and with synthesized scores.

Glossary of shapes:
    B   batch, the number of sequences
    T   length of the sequences, at most block_size
    C   channels of the model, n_embd
    nh  number of heads, n_head
    hs  channels of a head, C / nh
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch.nn as nn
import torch.nn.functional as F

from pretraining import InputError, returned

if TYPE_CHECKING:
    from .model import GPTConfig


def causal_mask(block_size: int) -> torch.Tensor:
    """Return ones where row t may look (columns 0 to t): (1, 1, block_size, block_size), float."""
    return torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size)


def check_heads(n_embd: int, n_head: int) -> None:
    """Raise an InputError unless the channels divide evenly among the heads."""
    if n_embd % n_head != 0:
        raise InputError(f"n_embd is {n_embd}, expected a multiple of n_head, {n_head}")


def precompute_rotary_emb(dim: int, max_positions: int) -> torch.Tensor:
    """Return the cosines and sines of RoPE's angles (Su et al. 2021, section 3.2.2, equation 15).

    At position t, pair k of the coordinates is rotated by the angle t * theta_k, where
    theta_k = 10000^(-2k/dim) for k = 0 .. dim/2 - 1 (the paper counts pairs from 1).

    Example: precompute_rotary_emb(2, 3) is [[[1, 0]], [[cos 1, sin 1]], [[cos 2, sin 2]]].

    Args:
        dim: the number of coordinates to rotate: a head's hs, which must be even.
        max_positions: the number of positions; the first is 0.

    Returns:
        shape (max_positions, dim/2, 2), float32; the last axis holds the cosine, then the sine.
    """
    # [rope]
    ### START CODE HERE ###
    theta = 10_000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)  # (dim/2,)
    angles = torch.outer(torch.arange(max_positions, dtype=torch.float64), theta)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).float()  # (max_positions, dim/2, 2)
    ### END CODE HERE ###


def apply_rotary_emb(x: torch.Tensor, rope_cache: torch.Tensor) -> torch.Tensor:
    """Rotate each pair of x's coordinates by the angle of its position (Su et al. 2021, eq. 15).

    The pair (a, b) becomes (a cos - b sin, a sin + b cos), in the same two places: at position 0,
    where all angles are 0, x does not change. You may choose which coordinates form pair k: the
    neighbours 2k and 2k + 1, as in the paper, or k and k + hs/2, as in many libraries.

    Hint: torch.view_as_complex turns pairs of neighbours into complex numbers, and multiplying by
    cos + i sin rotates them. Without complex numbers, you need a few more lines.

    Args:
        x: queries or keys, shape (B, nh, T, hs), float; row t belongs to position t.
        rope_cache: from precompute_rotary_emb(hs, ...); it may hold more positions than T.

    Returns:
        the rotated x, with the shape and dtype of x.
    """
    # [rope]
    ### START CODE HERE ###
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(dim=-1)  # (T, hs/2) each
    a, b = x[..., 0::2], x[..., 1::2]  # (B, nh, T, hs/2) each
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)  # (B, nh, T, hs/2, 2)
    return pairs.flatten(-2)  # (B, nh, T, hs)
    ### END CODE HERE ###


class CausalSelfAttention(nn.Module):
    """Scaled dot-product attention (Vaswani et al. 2017, section 3.2) with a causal mask.

    Each head computes softmax(causal((X Q)(X K)^T / sqrt(hs))) (X V); the outputs of
    the heads are concatenated and passed through one more linear layer, proj.
    """

    # pretraining/fast.py and pretraining/decoding.py may compute this class's forward in a faster
    # way. If you change forward, delete this line; subclasses don't inherit it.
    replaceable = True

    mask: torch.Tensor
    # With config.rope, each head first rotates its X Q and X K by position (Su et al. 2021), with
    # precompute_rotary_emb and apply_rotary_emb; only editions with a question on RoPE have these.
    rope_cache: torch.Tensor

    def __init__(self, config: GPTConfig):
        """Make the layers.

        Args:
            config: its n_embd, n_head, block_size, attn_pdrop, resid_pdrop and rope are used.

        Raises:
            InputError: the channels can't be divided among the heads or, with rope, into pairs.
        """
        super().__init__()
        check_heads(config.n_embd, config.n_head)
        self.n_head = config.n_head
        # Each of these serves all heads at once: head i owns channels i*hs to (i+1)*hs.
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.register_buffer("mask", causal_mask(config.block_size))
        self.rope = getattr(config, "rope", False)  # GPTConfig of earlier years lacks it
        if self.rope:
            hs = config.n_embd // config.n_head
            if hs % 2 != 0:
                raise InputError(
                    f"a head has {hs} channels, expected an even number: rope rotates pairs"
                )
            # Not saved with the parameters: it is not learnt, and follows from the shape.
            cache = precompute_rotary_emb(hs, config.block_size)
            cache = returned.tensor(precompute_rotary_emb, cache)
            self.register_buffer("rope_cache", cache, persistent=False)

    def with_positions(
        self, x: torch.Tensor, positions: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Rotate queries or keys, shape (B, nh, T, hs), float, if config.rope is true.

        Args:
            positions: shape (T,), long; None means 0 to T - 1.
        """
        if not self.rope:
            return x
        rope_cache = self.rope_cache if positions is None else self.rope_cache[positions]
        # In float32 or wider: bfloat16 has 8 bits for an angle, and no complex numbers. And a copy,
        # since apply_rotary_emb may write into x.
        wide = torch.promote_types(x.dtype, torch.float32)
        with torch.autocast(x.device.type, enabled=False):
            turned = apply_rotary_emb(x.to(wide, copy=True), rope_cache)
        return returned.tensor(apply_rotary_emb, turned, like=x).to(x.dtype)

    def forward(self, x: torch.Tensor, layer_past: object = None) -> torch.Tensor:
        """Compute causal self-attention.

        Args:
            x: shape (B, T, C), float.
            layer_past: unused; some earlier versions of the model pass it.

        Returns:
            shape (B, T, C), float.
        """
        B, T, C = x.size()
        nh, hs = self.n_head, C // self.n_head
        k = self.key(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        q = self.query(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        v = self.value(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        q, k = self.with_positions(q), self.with_positions(k)

        scores = q @ k.transpose(-2, -1) / math.sqrt(hs)  # (B, nh, T, T)
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_drop(F.softmax(scores, dim=-1))  # (B, nh, T, T)
        y = weights @ v  # (B, nh, T, hs)

        y = y.transpose(1, 2).contiguous().view(B, T, C)  # heads side by side
        return self.resid_drop(self.proj(y))


class SynthesizerAttention(nn.Module):
    """Attention whose scores come from a small network instead of queries and keys.

    A variant of the dense Synthesizer (Tay et al. 2020, section 3.1), with a causal mask and
    several heads. Each head computes
        softmax(causal(ReLU(X A + b1) B + b2)) (X V)
    where A maps the C channels to the head's hs channels, and B maps these to one score per
    column, that is, per position that the head could look at. The output projection follows, as
    in CausalSelfAttention. Scores are not divided by sqrt(hs).
    """

    mask: torch.Tensor

    def __init__(self, config: GPTConfig):
        """Make the layers.

        Args:
            config: its n_embd, n_head, block_size, attn_pdrop and resid_pdrop are used.

        Raises:
            InputError: the channels can't be divided among the heads.
        """
        super().__init__()
        check_heads(config.n_embd, config.n_head)
        self.n_head = config.n_head
        self.w1 = nn.Linear(config.n_embd, config.n_embd)  # the A of all heads; its bias is b1
        # B and b2, shared by the heads; a sequence of length T uses the first T columns.
        self.w2 = nn.Parameter(torch.zeros(config.n_embd // config.n_head, config.block_size))
        self.b2 = nn.Parameter(torch.zeros(config.block_size))
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.register_buffer("mask", causal_mask(config.block_size))
        # Small: at first, every position attends evenly to all positions that it may see.
        nn.init.uniform_(self.w2, -0.001, 0.001)

    def forward(self, x: torch.Tensor, layer_past: object = None) -> torch.Tensor:
        """Compute synthesized causal self-attention.

        Hint: the layout is that of CausalSelfAttention above, and you can keep most of its lines.
        Only the scores are computed differently: from self.w1, a ReLU, self.w2 and self.b2. Both
        dropouts apply in the same places as there.

        Args:
            x: shape (B, T, C), float; T is at most the number of columns of self.w2.
            layer_past: unused; some earlier versions of the model pass it.

        Returns:
            shape (B, T, C), float.
        """
        # [synthesizer]
        ### START CODE HERE ###
        B, T, C = x.size()
        nh, hs = self.n_head, C // self.n_head
        hidden = F.relu(self.w1(x)).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        v = self.value(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)

        scores = hidden @ self.w2[:, :T] + self.b2[:T]  # (B, nh, T, T)
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_drop(F.softmax(scores, dim=-1))  # (B, nh, T, T)
        y = weights @ v  # (B, nh, T, hs)

        y = y.transpose(1, 2).contiguous().view(B, T, C)  # heads side by side
        return self.resid_drop(self.proj(y))
        ### END CODE HERE ###
