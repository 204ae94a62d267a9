"""Fast training: each optimization and its reason. The results are those of the plain way.

The plain way is one line, `model(x, y)[1].backward()`. An Engine computes the same gradients:

1. *Padding is left out.* Examples end in padding and differ in length, so a batch trimmed to its
   longest example is still half padding. Rows of similar length form microbatches, and only
   attention computes what padding is left in these (packing.py).
2. *Logits and loss only where there is a target*: in finetuning that is one position in four.
3. *bfloat16 where the processor multiplies it faster than float32.* The twins hold the parameters
   in bfloat16; the model itself, the sum of their gradients and the optimizer stay in float32,
   without which small steps would be rounded away.
4. *Threads of our own*. Each processes its microbatches with a twin of the model, and they
   synchronize once per step; torch's own threads do so at every operation, and our matrices are
   small.
5. *Large blocks of memory are kept* (keep_memory): requesting them from the system again in each
   step costs as much as some of the arithmetic.
6. *Keys, queries and values from one product, scores and mask in one more*; on a GPU, torch's fused
   attention and the whole batch, because a few rows do not fill the GPU.

The best format and number of threads differ between computers, and on a busy one from hour to hour:
pace.py times a few steps of each.
"""

from __future__ import annotations

import copy
import ctypes
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F

from . import packing
from .batches import PAD_ID
from .errors import InputError
from .given import is_replaceable

if TYPE_CHECKING:
    from submission.attention import CausalSelfAttention
    from submission.model import GPT

Microbatch = tuple[torch.Tensor, torch.Tensor]  # x and y, trimmed
CPU_ROWS = 32  # in a microbatch; with fewer, matrices are too small to multiply at full speed
COLUMNS = 8  # see trim
FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Pace:
    """How steps are computed: the dtype, "float32" or "bfloat16", and the number of threads."""

    dtype: str = "float32"
    threads: int = 1

    def __str__(self) -> str:
        return f"{self.dtype}, {self.threads} thread{'s' if self.threads > 1 else ''}"


class Engine:
    """Computes a model's gradients at a given pace. Close it (or use `with`) to end its threads."""

    def __init__(self, model: GPT, pace: Pace):
        """
        Args:
            model: on its device; rows must not influence each other, nor padding what
                comes before it.
            pace: a GPU uses one thread.
        """
        self.model, self.pace = model, pace
        self.device = next(model.parameters()).device
        self._threads_before = torch.get_num_threads()
        self._packs = self.device.type == "cpu" and packing.can_pack(model)
        if self.device.type == "cpu":
            keep_memory()
            torch.set_num_threads(1)
        dtype = FORMATS[pace.dtype] if pace.dtype != "float32" else None
        first = twin_of(model, dtype)
        self._twins = [first, *(twin_of(first, None) for _ in range(pace.threads - 1))]
        self._pool = ThreadPoolExecutor(pace.threads, "engine", torch.set_num_threads, (1,))

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        torch.set_num_threads(self._threads_before)

    def backward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Replace the model's gradients by those of the mean loss over a batch's targets.

        Args:
            x, y: ids and targets, shape (B, T), long, on any device; 0 in y means no target.

        Returns:
            the mean loss, in nats, a float32 scalar without gradient.

        Raises:
            InputError: the batch has no target.
        """
        targets = int((y != 0).sum())
        if targets == 0:
            raise InputError(
                "got a batch in which y is PAD (0) everywhere, expected something to predict "
                "(does the dataset replace too much of y by padding?)"
            )
        if self.pace.dtype != "float32":
            lows = self._twins[0].parameters()
            with torch.no_grad():
                for low, own in zip(lows, self.model.parameters(), strict=True):
                    low.copy_(own)
        shares = self._share_out(x, y)
        busy = [(twin, share) for twin, share in zip(self._twins, shares, strict=True) if share]
        if len(busy) == 1:
            losses = [self._accumulate(*busy[0], targets)]
        else:
            work = [self._pool.submit(self._accumulate, *each, targets) for each in busy]
            losses = [each.result() for each in work]
        self._gather([twin for twin, _ in busy])
        return sum(losses[1:], losses[0])

    def _share_out(self, x: torch.Tensor, y: torch.Tensor) -> list[list[Microbatch]]:
        """Split a batch into microbatches: a list for each thread, with similar work in each."""
        threads = self.pace.threads
        if self.device.type != "cpu":
            return [[trim(x, y)]]
        lengths = ((x != 0) | (y != 0)).sum(dim=1)  # (B,)
        count = max(threads, -(-len(x) // CPU_ROWS))
        rows = lengths.argsort(stable=True).chunk(count)
        # Like dealing cards back and forth, so that the shortest and longest rows share a thread.
        order = [*range(threads), *reversed(range(threads))]
        shares: list[list[Microbatch]] = [[] for _ in range(threads)]
        for i, part in enumerate(part for part in rows if (y[part] != 0).any()):
            shares[order[i % len(order)]].append(trim(x[part], y[part]))
        return shares

    def _accumulate(self, twin: GPT, share: list[Microbatch], targets: int) -> torch.Tensor:
        """Compute a share's gradients in the twin; return the share's part of the mean loss."""
        twin.train(self.model.training)
        twin.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for x, y in share:
            loss = self._summed_loss(twin, x, y) / targets
            loss.backward()
            total = total + loss.detach()
        return total

    def _summed_loss(self, twin: GPT, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the sum of the loss over the targets of a microbatch."""
        low = self.pace.dtype != "float32"
        x, y = (ids.to(self.device, non_blocking=True) for ids in (x, y))
        # Students' code may make float32 constants, which autocast combines with bfloat16.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=low):
            if self._packs:
                packed = packing.pack(x, y)
                hidden, y = packing.features(twin, packed), packed.targets  # (N, C), (N,)
            elif hasattr(twin, "features"):
                hidden, y = twin.features(x).flatten(0, 1), y.flatten()  # (B * T, C), (B * T,)
            else:  # a model of an earlier year
                return twin(x, y)[1] * (y != 0).sum()
            places = packing.rounded_places(y != 0)
            logits = twin.head(hidden[places])  # (targets, V)
        logits = logits.float() if low else logits
        return F.cross_entropy(logits, y[places], ignore_index=PAD_ID, reduction="sum")

    def _gather(self, twins: list[GPT]) -> None:
        """Add up the twins' gradients into the model's, in the model's own dtype."""
        for own, *others in zip(
            self.model.parameters(), *(twin.parameters() for twin in twins), strict=True
        ):
            grads = [other.grad for other in others if other.grad is not None]
            own.grad = grads[0].to(own.dtype) if grads else None
            for more in grads[1:]:
                own.grad += more


def trim(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut off columns at the end in which no example has anything, (B, T) to (B, length).

    Lengths are multiples of COLUMNS (or T): for each new size of a product, code is generated and
    memory kept, which would otherwise make up half of all memory that a training uses.
    """
    used = ((x != 0) | (y != 0)).any(dim=0).nonzero()
    longest = int(used[-1]) + 1 if len(used) else 1
    length = -(-longest // COLUMNS) * COLUMNS
    return x[:, :length], y[:, :length]


def twin_of(model: GPT, dtype: torch.dtype | None) -> GPT:
    """Copy a model; the copy has its own gradients, and a faster attention where it may have.

    It shares the parameters' values or, if `dtype` is given, has its own of that dtype.
    """
    twin = copy.deepcopy(model)
    if dtype is not None:
        twin.to(dtype)
        for module, wide in zip(twin.modules(), model.modules(), strict=True):
            for name, buffer in wide.named_buffers(recurse=False):
                if not torch.equal(getattr(module, name).to(buffer.dtype), buffer):
                    setattr(module, name, buffer)  # its digits matter, as those of RoPE's angles
    else:
        for own, shared in zip(twin.parameters(), model.parameters(), strict=True):
            own.data = shared.data
    for module in twin.modules():
        if is_replaceable(module):
            module.__class__ = type("FastAttention", (type(module),), {"forward": attend})
    return twin


def attend(attn: CausalSelfAttention, x: torch.Tensor, layer_past: object = None) -> torch.Tensor:
    """Compute a replaceable attention in fewer, larger operations; (B, T, C) to the same.

    torch's fused kernel (Dao et al. 2022, FlashAttention) is for GPUs: in bfloat16 it takes six
    times as long on a processor.
    """
    B, T, C = x.size()
    nh, hs = attn.n_head, C // attn.n_head
    layers = (attn.query, attn.key, attn.value)
    weight, bias = (
        torch.cat([getattr(layer, name) for layer in layers]) for name in ("weight", "bias")
    )
    qkv = F.linear(x, weight, bias).view(B, T, 3 * nh, hs).transpose(1, 2)  # (B, 3 nh, T, hs)
    q, k, v = qkv.split(nh, dim=1)  # (B, nh, T, hs)
    q, k = attn.with_positions(q), attn.with_positions(k)
    if x.device.type != "cpu":
        drop = attn.attn_drop.p if attn.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
    else:
        q, k, v = (each.reshape(B * nh, T, hs) for each in (q, k, v))
        later = torch.full((T, T), float("-inf"), dtype=q.dtype).triu(1)  # added to scores
        later = later.expand(B * nh, T, T)
        scores = torch.baddbmm(later, q, k.transpose(1, 2), alpha=1 / math.sqrt(hs))
        weights = attn.attn_drop(F.softmax(scores, dim=-1))  # (B * nh, T, T)
        y = (weights @ v).view(B, nh, T, hs)
    return attn.resid_drop(attn.proj(y.transpose(1, 2).reshape(B, T, C)))


def keep_memory() -> None:
    """Let glibc keep freed memory for the next step. Elsewhere, do nothing."""
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    trim_threshold, mmap_threshold = -1, -3  # malloc.h
    mallopt(mmap_threshold, 32 << 20)  # the greatest accepted value
    mallopt(trim_threshold, (1 << 31) - 1)
