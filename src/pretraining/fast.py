"""Fast training: each optimization and its reason. The results are those of the plain way.

The plain way is one line, `model(x, y)[1].backward()`. An Engine computes the same gradients:

1. *Padding is left out.* Examples end in padding and differ in length, so a batch trimmed to its
   longest example is still half padding. Rows of similar length form microbatches, and only
   attention computes what padding is left in these (pack).
2. *Logits and loss only where there is a target*: in finetuning that is one position in four.
3. *bfloat16 where the processor multiplies it faster than float32.* The twins hold the parameters
   in bfloat16; the model itself, the sum of their gradients and the optimizer stay in float32,
   without which small steps would be rounded away.
4. *Threads of our own*. Each processes its microbatches with a twin of the model, and they
   synchronize once per step; torch's own threads do so at every operation, and our matrices are
   small.
5. *Large blocks of memory are kept* (host.py): requesting them from the system again in each
   step costs as much as some of the arithmetic.
6. *Keys, queries and values from one product, scores and mask in one more*; on a GPU, torch's fused
   attention and the whole batch, because a few rows do not fill the GPU.

Packing: all layers but attention process each position for itself, and get the tokens of all rows
as one long list, without padding. For attention, the tokens are put back into rows for a moment.

The best format and number of threads differ between computers, and on a busy one from hour to hour:
choose_pace times a few steps of each.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import torch.nn.functional as F

import host

from . import (
    GPT,
    CausalSelfAttention,
    InputError,
    Trainer,
    has_given_blocks,
    is_replaceable,
    returned,
)
from .batches import PAD_ID, load, random_states, restore_random_states
from .optimizers import FORMATS, Pace, build_optimizers

Microbatch = tuple[torch.Tensor, torch.Tensor]  # x and y, trimmed
CPU_ROWS = 32  # in a microbatch; with fewer, matrices are too small to multiply at full speed
COLUMNS = 8  # see trim
ROUND = 128  # numbers of tokens are multiples of this; see rounded_places
# Of the choice of a pace.
MOST_THREADS = 4  # a batch of 128 has no work for more
TIMED_STEPS = 3
WORTH_S = 8.0  # shorter trainings aren't worth the seconds it takes to choose
GAIN_OF_FORMAT = 1.25  # float32 is more exact: give it up only for a real gain
GAIN_OF_THREADS = 1.1


class Engine:
    """Computes a model's gradients at a given pace. A `with` block ends its threads."""

    def __init__(self, model: GPT, pace: Pace):
        """Make a twin for each thread of a model in which rows don't influence each other."""
        self.model, self.pace = model, pace
        self.device = next(model.parameters()).device
        self._threads_before = torch.get_num_threads()
        self._packs = self.device.type == "cpu" and can_pack(model)
        if self.device.type == "cpu":
            host.keep_memory()
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
                tokens = pack(x, y)
                hidden, y = features(twin, x, tokens), y.flatten()[tokens]  # (N, C), (N,)
            elif hasattr(twin, "features"):
                hidden, y = twin.features(x).flatten(0, 1), y.flatten()  # (B * T, C), (B * T,)
            else:  # a model of an earlier year
                return twin(x, y)[1] * (y != 0).sum()
            places = rounded_places(y != 0)
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


def choose_pace(trainer: Trainer, checkpoint: dict | None) -> tuple[Pace, float]:
    """Find the fastest pace for a Trainer, among those that its config and device allow.

    It is timed with a copy of the model, without an effect on the training. A checkpoint's pace is
    kept, where config does not set another.

    Returns:
        the pace, and the seconds of a step, including the loading of its batch.

    Raises:
        InputError: config asks for an unknown dtype or too many threads.
    """
    config, device = trainer.config, next(trainer.model.parameters()).device
    dropout = any(isinstance(m, torch.nn.Dropout) and m.p > 0 for m in trainer.model.modules())
    # Threads would draw from the shared generator in an unpredictable order.
    most = 1 if dropout or device.type != "cpu" else MOST_THREADS
    dtype, threads = config.dtype, config.threads
    if dtype not in (None, *FORMATS):
        raise InputError(f"dtype {dtype!r} is unknown, expected one of: {', '.join(FORMATS)}")
    if threads is not None and not 1 <= threads <= most:
        raise InputError(
            f"got {threads} threads, expected 1 to {most} (a GPU, and dropout, allow 1)"
        )
    if checkpoint is not None:
        stored = checkpoint["pace"]
        dtype, threads = dtype or stored["dtype"], threads or stored["threads"]

    states = random_states()
    started = time.perf_counter()
    x, y = next(iter(load(trainer.train_dataset, trainer.order, num_workers=0)))
    reading_s = time.perf_counter() - started

    def time_a_step(pace: Pace, rows: int) -> float:
        """Return the seconds of the fastest of a few steps."""
        trial = copy.copy(trainer)
        trial.model, trial.order = copy.deepcopy(trainer.model), copy.copy(trainer.order)
        trial.optimizers = build_optimizers(trial.model, config, pace)
        took = []
        with Engine(trial.model, pace) as engine:
            for _ in range(1 + TIMED_STEPS):  # the first one is a warm-up
                started = time.perf_counter()
                trial.learn(engine, x[:rows], y[:rows]).item()
                took.append(time.perf_counter() - started)
        return min(took[1:])

    pace, step_s = fastest(time_a_step, len(trainer.order), len(x), dtype, threads, most)
    restore_random_states(states)
    return pace, step_s + reading_s


def fastest(
    time_a_step: Callable[[Pace, int], float],
    steps: int,
    rows: int,
    dtype: str | None,
    threads: int | None,
    most: int,
) -> tuple[Pace, float]:
    """Find the fastest pace for a training of `steps` batches; return it and a step's seconds.

    Args:
        time_a_step: returns the seconds of a step at a pace on a number of rows.
        rows: of a batch.
        dtype, threads: given values, or None: any dtype, and at most `most` threads.
    """
    pace = Pace(dtype or "float32", threads or 1)
    best_s = time_a_step(pace, rows)
    if best_s * steps < WORTH_S:
        return pace, best_s
    if dtype is None:
        # A processor without bfloat16 takes 20 times as long: find out with a few rows.
        few = min(rows, CPU_ROWS)
        few_s = {name: time_a_step(Pace(name, pace.threads), few) for name in FORMATS}
        if few_s["bfloat16"] * GAIN_OF_FORMAT < few_s["float32"]:
            pace = Pace("bfloat16", pace.threads)
            best_s = time_a_step(pace, rows)
    if threads is None:
        for count in (2, 4):
            if count <= min(most, os.cpu_count() or 1):
                candidate = Pace(pace.dtype, count)
                took_s = time_a_step(candidate, rows)
                if took_s * GAIN_OF_THREADS < best_s:
                    pace, best_s = candidate, took_s
    return pace, best_s


def trim(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut off columns at the end in which no example has anything, (B, T) to (B, length).

    Lengths are multiples of COLUMNS (or T): for each new size of a product, code is generated and
    memory kept, half of all that a training uses.
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


def attend(attn: CausalSelfAttention, x: torch.Tensor, layer_past: None = None) -> torch.Tensor:
    """Compute a replaceable attention in fewer, larger operations; (B, T, C) to the same."""
    q, k, v = projected(attn, x)
    return combined(attn, attn.with_positions(q), attn.with_positions(k), v)


def combined(
    attn: CausalSelfAttention,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    visible: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute a replaceable attention from its projections; (B, nh, T, hs) to (B, T, C).

    torch's fused kernel (Dao et al. 2022, FlashAttention) is not for training on a processor: in
    bfloat16 it takes six times as long there.

    Args:
        visible: in decoding, which columns of k and v each position sees: (B, 1, T, columns), bool.
    """
    B, nh, T, hs = q.shape
    if visible is not None or q.device.type != "cpu":
        drop = attn.attn_drop.p if attn.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, visible, drop, is_causal=visible is None)
    else:
        q, k, v = (each.reshape(B * nh, T, hs) for each in (q, k, v))
        later = torch.full((T, T), float("-inf"), dtype=q.dtype).triu(1)  # added to scores
        later = later.expand(B * nh, T, T)
        scores = torch.baddbmm(later, q, k.transpose(1, 2), alpha=1 / math.sqrt(hs))
        weights = attn.attn_drop(F.softmax(scores, dim=-1))  # (B * nh, T, T)
        y = (weights @ v).view(B, nh, T, hs)
    return attn.resid_drop(attn.proj(y.transpose(1, 2).flatten(2)))


def projected(attn: CausalSelfAttention, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return queries, keys and values from one product; (B, T, C) to three of (B, nh, T, hs)."""
    layers = (attn.query, attn.key, attn.value)
    weight, bias = (
        torch.cat([getattr(layer, name) for layer in layers]) for name in ("weight", "bias")
    )
    qkv = F.linear(x, weight, bias).unflatten(2, (3 * attn.n_head, -1)).transpose(1, 2)
    return qkv.split(attn.n_head, dim=1)


def can_pack(model: GPT) -> bool:
    """Return whether `features` computes the same as the model's own method, apart from rounding.

    It does for the given model, with any attention, but curious students may have changed model.py.
    So this compares the two with other parameters (many begin as zeros).
    """
    if not has_given_blocks(model):
        return False
    trial = copy.deepcopy(model).eval()
    own = torch.Generator().manual_seed(0)  # training's draws stay as they are
    x = torch.ones(2, min(8, model.block_size), dtype=torch.long)
    x[1, 1:] = 0  # a row that ends earlier
    tokens = pack(x, x)
    with torch.no_grad():
        for parameter in trial.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=own))
        try:
            expected = trial.features(x).flatten(0, 1)[tokens]
            got = features(trial, x, tokens)
        except Exception:  # a student's mistake; the training will show it with its own shapes
            return False
    return torch.allclose(got, expected, rtol=0, atol=1e-3)


def pack(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the places, in x.flatten(), of each row's tokens up to its last input or target.

    Args:
        x, y: ids and targets, shape (R, T), long; 0 is padding.
    """
    columns = torch.arange(x.size(1))
    last = (((x != 0) | (y != 0)) * columns).amax(dim=1, keepdim=True)  # (R, 1)
    return rounded_places((columns <= last).flatten())


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


def features(model: GPT, ids: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Compute what the given model's `features` does of ids, (R, T), at N tokens: (N, C), float.

    In bfloat16, sums over thousands of tokens would lose most digits. torch adds up the gradients
    of embeddings and of LayerNorm's parameters in the dtype of these layers, so they use float32.
    """
    dtype = model.head.weight.dtype
    x = F.embedding(ids.flatten()[tokens], widened(model.tok_emb.weight))  # (N, C)
    if model.pos_emb is not None:
        x = x + F.embedding(tokens % ids.size(1), widened(model.pos_emb[0]))
    x = model.drop(x).to(dtype)
    for block in model.blocks:
        x = x + attended(block.attn, normalized(block.ln1, x), tokens, ids.shape)
        x = x + block.mlp(normalized(block.ln2, x))
    return normalized(model.ln_f, x)


def widened(x: torch.Tensor) -> torch.Tensor:
    """Return x in float32 or wider."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def normalized(norm: torch.nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    """Apply a LayerNorm in float32 or wider; shape and dtype are those of x."""
    weight, bias = widened(norm.weight), widened(norm.bias)
    return F.layer_norm(widened(x), norm.normalized_shape, weight, bias, norm.eps).to(x.dtype)


def attended(
    attn: torch.nn.Module, x: torch.Tensor, tokens: torch.Tensor, shape: torch.Size
) -> torch.Tensor:
    """Compute attention within each of the rows of a shape (R, T): (N, C) to the same, float."""
    rows = x.new_zeros(shape.numel(), x.size(1)).index_copy_(0, tokens, x).view(*shape, -1)
    result = returned.tensor(type(attn).forward, attn(rows), like=rows)  # (R, T, C)
    return Pick.apply(result.flatten(0, 1), tokens)


class Pick(torch.autograd.Function):
    """x[places] of different rows; torch's own adds up gradients, in case a row occurs twice."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return x.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (places,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.shape).index_copy_(0, places, gradient), None
