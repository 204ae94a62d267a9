"""Greedy decoding of many answers at once.

To write one character, a Transformer needs the keys and values of all characters before it. With
a replaceable attention (see __init__.py) they are kept from step to step (a cache), so that
each step computes one position instead of all. With any other attention, the whole sequence is
computed again at each step. Both give the same results as utils.sample.

Glossary of shapes: B, T, nh, hs as in submission/attention.py; P, the length of the longest prompt.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from . import GPT, CausalSelfAttention, has_given_blocks, is_replaceable
from .fast import combined, projected

ANSWER_STEPS = 32  # characters that an answer may have, including the MASK at its end
BATCH_SIZE = 256  # a larger batch is no faster on a CPU, and needs more memory

Answer = tuple[list[int], float]  # ids before the stop, and their probability
# Appends ids, (B,) long (at first None), to the text; returns the logits of the next, (B, V).
Reader = Callable[[torch.Tensor | None], torch.Tensor]


@torch.no_grad()
def greedy_answers(model: GPT, prompts: list[list[int]], stop_id: int, steps: int) -> list[Answer]:
    """Continue each prompt with the likeliest id at each step, until stop_id has been written.

    Args:
        model: on any device.
        prompts: ids, each of length 1 to block_size; they may differ in length.
        stop_id: the id that ends an answer; it isn't part of the result.
        steps: how many ids may be written, stop_id included.

    Returns:
        for each prompt the ids written before stop_id, and the product of the probabilities of
        everything written, including stop_id.
    """
    model.eval()
    answers: dict[int, Answer] = {}  # by the prompt's number
    by_length = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    if has_given_blocks(model) and all(is_replaceable(block.attn) for block in model.blocks):
        for start in range(0, len(by_length), BATCH_SIZE):
            batch = by_length[start : start + BATCH_SIZE]
            # Beyond the block, positions shift, which invalidates a cache.
            if len(prompts[batch[-1]]) + steps <= model.get_block_size():
                reader = _with_cache(model, [prompts[i] for i in batch], steps)
                answers |= zip(batch, _write(reader, stop_id, steps), strict=True)
    left = [i for i in by_length if i not in answers]
    while left:
        # Only prompts of equal length form a batch, so that nothing depends on what a student's
        # attention does with padding.
        length = len(prompts[left[0]])
        batch = [i for i in left[:BATCH_SIZE] if len(prompts[i]) == length]
        left = left[len(batch) :]
        reader = _without_cache(model, [prompts[i] for i in batch])
        answers |= zip(batch, _write(reader, stop_id, steps), strict=True)
    return [answers[i] for i in range(len(prompts))]


def _write(reader: Reader, stop_id: int, steps: int) -> list[Answer]:
    """Write the likeliest id of each row until all rows have stopped."""
    ids = None
    written: list[torch.Tensor] = []
    logps: list[torch.Tensor] = []
    for _ in range(steps):
        logp, ids = F.log_softmax(reader(ids).double(), dim=-1).max(dim=-1)  # (B,)
        written.append(ids)
        logps.append(logp)
        if (torch.stack(written, dim=1) == stop_id).any(dim=1).all():
            break
    answers = []
    rows = torch.stack(written, dim=1).tolist(), torch.stack(logps, dim=1).tolist()
    for row, row_logp in zip(*rows, strict=True):
        end = row.index(stop_id) if stop_id in row else len(row)
        answers.append((row[:end], math.exp(sum(row_logp[: end + 1]))))
    return answers


def _without_cache(model: GPT, prompts: list[list[int]]) -> Reader:
    """Read prompts of one length; each call computes all positions."""
    x = torch.tensor(prompts, device=next(model.parameters()).device)  # (B, T)

    def read(ids: torch.Tensor | None) -> torch.Tensor:
        nonlocal x
        if ids is not None:
            x = torch.cat((x, ids[:, None]), dim=1)
        return model(x[:, -model.get_block_size() :])[0][:, -1]

    return read


def _with_cache(model: GPT, prompts: list[list[int]], steps: int) -> Reader:
    """Read prompts of any lengths, which are padded at the end; each call computes a position.

    Each row has its own position: it reads its prompt at 0..n-1 and writes from n on, over the
    padding. A row sees only the columns up to its own position, and thus never any padding.
    """
    device = next(model.parameters()).device
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)  # (B,)
    B, P = len(prompts), int(lengths.max())
    x = torch.zeros(B, P, dtype=torch.long, device=device)
    for row, prompt in enumerate(prompts):
        x[row, : len(prompt)] = torch.tensor(prompt, device=device)
    attn = model.blocks[0].attn
    nh, hs = attn.n_head, attn.key.in_features // attn.n_head
    # Keys and values of all blocks.
    cache = torch.zeros(len(model.blocks), 2, B, nh, P + steps, hs, device=device)
    ends = lengths  # of the text so far

    def read(ids: torch.Tensor | None) -> torch.Tensor:
        nonlocal ends
        if ids is None:
            positions = torch.arange(P, device=device).expand(B, P)
            hidden = _advance(model, cache, x, positions)  # (B, P, C)
            return model.head(hidden[torch.arange(B, device=device), lengths - 1])
        hidden = _advance(model, cache, ids[:, None], ends[:, None])  # (B, 1, C)
        ends = ends + 1
        return model.head(hidden[:, 0])

    return read


def _advance(
    model: GPT, cache: torch.Tensor, x: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Run the model on ids x at `positions`, both (B, T), and extend the cache; (B, T, C)."""
    h = model.tok_emb(x)
    if model.pos_emb is not None:
        h = h + model.pos_emb[0, positions]
    for block, kept in zip(model.blocks, cache, strict=True):
        h = h + _attend(block.attn, block.ln1(h), kept, positions)
        h = h + block.mlp(block.ln2(h))
    return model.ln_f(h)


def _attend(
    attn: CausalSelfAttention, x: torch.Tensor, kept: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Compute attention at `positions` to all up to their own, (B, T, C) to the same.

    Args:
        kept: keys and values, (2, B, nh, columns, hs), of position t in column t; it is extended.
    """
    q, k, v = projected(attn, x)  # (B, nh, T, hs)
    q, k = _with_positions(attn, q, positions), _with_positions(attn, k, positions)
    rows = torch.arange(len(x), device=x.device)[:, None]  # (B, 1), goes with positions
    for old, new in zip(kept, (k, v), strict=True):
        old.transpose(1, 2)[rows, positions] = new.transpose(1, 2)
    columns = torch.arange(kept.size(3), device=x.device)
    visible = columns <= positions[:, None, :, None]  # (B, 1, T, columns)
    return combined(attn, q, kept[0], kept[1], visible)


def _with_positions(
    attn: CausalSelfAttention, x: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Apply attn.with_positions, for which rows are joined: it has one position per column."""
    row = x.transpose(1, 2).flatten(0, 1)[None].transpose(1, 2)  # (1, nh, B * T, hs)
    row = attn.with_positions(row, positions.flatten())
    return row.transpose(1, 2).unflatten(1, positions.shape)[0].transpose(1, 2)
