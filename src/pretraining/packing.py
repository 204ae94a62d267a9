"""Packing: the tokens of many rows, side by side, without the padding between them.

Rows of a microbatch differ in length, so that a quarter of its positions are padding. Only
attention needs the rows: all other layers process each position for itself, and get the tokens of
all rows as one long list. Before each attention, the tokens are put back into their rows, which are
padded, and after it, the padding is dropped again.
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

Microbatch = tuple[torch.Tensor, torch.Tensor]  # x and y, shape (R, T), long
# The number of tokens is a multiple of this. The last few are fillers without a target, because for
# each new size of a product in bfloat16, code is generated.
ROUND = 64


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
    packed = pack([(x, x)])
    with torch.no_grad():
        for parameter in trial.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=own))
        try:
            expected = trial.features(x)[x != 0]
            got = features(trial, packed)[: len(expected)]
        except Exception:  # a student's mistake; the training will show it with its own shapes
            return False
    return torch.allclose(got, expected, rtol=0, atol=1e-3)


@dataclass(frozen=True)
class Packed:
    """The N tokens of several microbatches, in the order of their rows; the last may be fillers.

    Attributes:
        ids, targets, positions: of each token, shape (N,), long; 0 in targets means no target.
        shapes: (R, T) of each microbatch.
        places: for each microbatch, where its tokens are in x.flatten(), shape (tokens,), long.
        fillers: the number of fillers.
    """

    ids: torch.Tensor
    targets: torch.Tensor
    positions: torch.Tensor
    shapes: list[tuple[int, int]]
    places: list[torch.Tensor]
    fillers: int


def pack(microbatches: list[Microbatch]) -> Packed:
    """Take the tokens of all rows: each row's until the last that has an input or a target."""
    ids, targets, positions, shapes, places = [], [], [], [], []
    for x, y in microbatches:
        columns = torch.arange(x.size(1))
        last = (((x != 0) | (y != 0)) * columns).amax(dim=1, keepdim=True)  # (R, 1)
        place = (columns <= last).flatten().nonzero().flatten()
        ids.append(x.flatten()[place])
        targets.append(y.flatten()[place])
        positions.append(place % x.size(1))
        places.append(place)
        shapes.append((x.size(0), x.size(1)))
    fillers = -sum(map(len, places)) % ROUND

    def joined(parts: list[torch.Tensor]) -> torch.Tensor:
        return F.pad(torch.cat(parts), (0, fillers))

    return Packed(joined(ids), joined(targets), joined(positions), shapes, places, fillers)


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
    results = []
    sizes = [*map(len, packed.places), packed.fillers]
    *parts, fillers = x.split(sizes)
    for part, place, (R, T) in zip(parts, packed.places, packed.shapes, strict=True):
        rows = part.new_zeros(R * T, x.size(1)).index_copy_(0, place, part).view(R, T, -1)
        result = returned.tensor(type(attn).forward, attn(rows), like=rows)  # (R, T, C)
        results.append(Pick.apply(result.reshape(R * T, -1), place))
    return torch.cat([*results, torch.zeros_like(fillers)])


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
