"""Packing: the tokens of several rows, side by side, without the padding between them.

Rows differ in length, so that a quarter of a microbatch is padding. Only attention needs the rows:
all other layers process each position for itself, and get the tokens of all rows as one long list.
Before each attention, the tokens are put back into their rows, which are padded, and after it, the
padding is dropped again.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.nn.functional as F

from . import returned
from .given import has_given_blocks

if TYPE_CHECKING:
    from submission.model import GPT, Block

# Numbers of tokens are multiples of this; see rounded_places.
ROUND = 128


def can_pack(model: GPT) -> bool:
    """Return whether `features` computes the same as the model's own method, apart from rounding.

    It does so for the given model, with any attention. But a student who is curious may have
    changed model.py, so this compares the two with other parameters (many begin as zeros).
    """
    if not has_given_blocks(model):
        return False
    trial = copy.deepcopy(model).eval()
    own = torch.Generator().manual_seed(0)  # training's draws stay as they are
    x = torch.ones(2, min(8, model.block_size), dtype=torch.long)
    x[1, 1:] = 0  # a row that ends earlier
    packed = pack(x, x)
    with torch.no_grad():
        for parameter in trial.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=own))
        try:
            expected = trial.features(x).flatten(0, 1)[packed.places]
            got = features(trial, packed)
        except Exception:  # a student's mistake; the training will show it with its own shapes
            return False
    return torch.allclose(got, expected, rtol=0, atol=1e-3)


@dataclass(frozen=True)
class Packed:
    """The N tokens of a microbatch of R rows and T columns.

    Attributes:
        ids, targets, positions: of each token, shape (N,), long; 0 in targets means no target.
        places: where the tokens are in x.flatten(), shape (N,), long.
        shape: R and T.
    """

    ids: torch.Tensor
    targets: torch.Tensor
    positions: torch.Tensor
    places: torch.Tensor
    shape: torch.Size


def pack(x: torch.Tensor, y: torch.Tensor) -> Packed:
    """Take each row's tokens until the last that has an input or a target.

    Args:
        x, y: ids and targets, shape (R, T), long; 0 is padding.
    """
    columns = torch.arange(x.size(1))
    last = (((x != 0) | (y != 0)) * columns).amax(dim=1, keepdim=True)  # (R, 1)
    places = rounded_places((columns <= last).flatten())
    return Packed(
        x.flatten()[places], y.flatten()[places], places % x.size(1), places, shape=x.shape
    )


def rounded_places(wanted: torch.Tensor) -> torch.Tensor:
    """Return where `wanted`, shape (N,), bool, is true, and a few more places where it is not.

    These make the number a multiple of ROUND: a product of matrices of new sizes costs
    milliseconds in bfloat16, because code is generated for each size.
    """
    places = wanted.nonzero().flatten()
    missing = -len(places) % ROUND
    others = (~wanted).nonzero().flatten()[:missing]
    if len(others) < missing:
        return torch.arange(len(wanted), device=wanted.device)
    return torch.cat((places, others))


def features(model: GPT, packed: Packed) -> torch.Tensor:
    """Compute what the given model's `features` does, of packed tokens: shape (N, C), float.

    In bfloat16, sums over thousands of tokens would lose most digits. torch adds up the gradients
    of embeddings and of LayerNorm's parameters in the dtype of these layers, so they use float32.
    """
    dtype = model.head.weight.dtype
    x = F.embedding(packed.ids, widened(model.tok_emb.weight))  # (N, C)
    if model.pos_emb is not None:
        x = x + F.embedding(packed.positions, widened(model.pos_emb[0]))
    x = model.drop(x).to(dtype)
    for block in cast("list[Block]", list(model.blocks)):
        x = x + attended(block.attn, normalized(block.ln1, x), packed)
        x = x + block.mlp(normalized(block.ln2, x))
    return normalized(model.ln_f, x)


def widened(x: torch.Tensor) -> torch.Tensor:
    """Return x in float32 or wider."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def normalized(norm: torch.nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    """Apply a LayerNorm in float32 or wider; shape and dtype are those of x."""
    weight, bias = widened(norm.weight), widened(norm.bias)
    return F.layer_norm(widened(x), norm.normalized_shape, weight, bias, norm.eps).to(x.dtype)


def attended(attn: torch.nn.Module, x: torch.Tensor, packed: Packed) -> torch.Tensor:
    """Compute attention within each row: shape (N, C) to the same, float."""
    (R, T), C = packed.shape, x.size(1)
    rows = x.new_zeros(R * T, C).index_copy_(0, packed.places, x).view(R, T, C)
    result = returned.tensor(type(attn).forward, attn(rows), like=rows)  # (R, T, C)
    return Pick.apply(result.reshape(R * T, C), packed.places)


class Pick(torch.autograd.Function):
    """index_select of different rows. torch's own adds up gradients, in case a row occurs twice."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Return x[places], shape (rows, C) to (n, C)."""
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return x.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient of x; it is 0 in the other rows."""
        (places,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_copy_(0, places, gradient), None
