"""Greedy decoding of many answers at once.

To write one character, a Transformer needs the keys and values of all characters before it. With
an attention that may be replaced (given.py) they are kept from step to step (a cache), so that each
step computes one position instead of all. With any other attention, the whole sequence is computed
again at each step. Both give the same results as utils.sample.

Glossary of shapes: B, T, nh, hs as in submission/attention.py; P, the length of the longest prompt.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from . import GPT, has_replaceable_attention
from .fast import Past, attend

ANSWER_STEPS = 32  # characters that an answer may have, including the MASK at its end
BATCH_SIZE = 256  # a larger batch is no faster on a CPU, and needs more memory

Answer = tuple[list[int], float]  # ids before the stop, and their probability


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
    if has_replaceable_attention(model):
        for start in range(0, len(by_length), BATCH_SIZE):
            batch = by_length[start : start + BATCH_SIZE]
            # Beyond the block, positions shift, which invalidates a cache.
            if len(prompts[batch[-1]]) + steps <= model.get_block_size():
                _store(answers, batch, *_cached(model, prompts, batch, stop_id, steps), stop_id)
    left = [i for i in by_length if i not in answers]
    while left:
        # Only prompts of equal length form a batch, so that nothing depends on what a student's
        # attention does with padding.
        length = len(prompts[left[0]])
        batch = [i for i in left[:BATCH_SIZE] if len(prompts[i]) == length]
        left = left[len(batch) :]
        _store(answers, batch, *_recomputed(model, prompts, batch, stop_id, steps), stop_id)
    return [answers[i] for i in range(len(prompts))]


def _store(
    answers: dict[int, Answer],
    batch: list[int],
    ids: torch.Tensor,
    logp: torch.Tensor,
    stop_id: int,
) -> None:
    """Cut rows of ids and logp, (B, steps so far), at their first stop_id; store the answers."""
    for i, row, row_logp in zip(batch, ids.tolist(), logp.tolist(), strict=True):
        end = row.index(stop_id) if stop_id in row else len(row)
        answers[i] = (row[:end], math.exp(sum(row_logp[: end + 1])))


def _choose(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the likeliest id of each row and its log-probability; (B, V) to (B,) and (B,)."""
    logp, ids = F.log_softmax(logits.double(), dim=-1).max(dim=-1)
    return ids, logp


def _recomputed(
    model: GPT, prompts: list[list[int]], batch: list[int], stop_id: int, steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Answer prompts of one length; return ids and log-probabilities, both (B, at most steps)."""
    device = next(model.parameters()).device
    x = torch.tensor([prompts[i] for i in batch], device=device)  # (B, T)
    written: list[torch.Tensor] = []
    logps: list[torch.Tensor] = []
    for _ in range(steps):
        ids, logp = _choose(model(x[:, -model.get_block_size() :])[0][:, -1])
        written.append(ids)
        logps.append(logp)
        x = torch.cat((x, ids[:, None]), dim=1)
        if _all_stopped(written, stop_id):
            break
    return torch.stack(written, dim=1), torch.stack(logps, dim=1)


def _all_stopped(written: list[torch.Tensor], stop_id: int) -> bool:
    return bool((torch.stack(written, dim=1) == stop_id).any(dim=1).all())


def _cached(
    model: GPT, prompts: list[list[int]], batch: list[int], stop_id: int, steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Answer like _recomputed, but for prompts of any lengths, which are padded at the end.

    Each row has its own position: it reads its prompt at 0..n-1 and writes from n on, over the
    padding. A row sees only the columns up to its own position, and thus never any padding.
    """
    device = next(model.parameters()).device
    lengths = torch.tensor([len(prompts[i]) for i in batch], device=device)  # (B,)
    B, P = len(batch), int(lengths.max())
    x = torch.zeros(B, P, dtype=torch.long, device=device)
    for row, i in enumerate(batch):
        x[row, : len(prompts[i])] = torch.tensor(prompts[i], device=device)
    attn = model.blocks[0].attn
    nh, hs = attn.n_head, attn.key.in_features // attn.n_head
    # Keys and values of all blocks.
    cache = torch.zeros(len(model.blocks), 2, B, nh, P + steps, hs, device=device)
    positions = torch.arange(P, device=device).expand(B, P)
    hidden = _advance(model, cache, x, positions)  # (B, P, C)
    rows = torch.arange(B, device=device)
    ids, logp = _choose(model.head(hidden[rows, lengths - 1]))
    written, logps = [ids], [logp]
    for step in range(steps - 1):
        if _all_stopped(written, stop_id):
            break
        hidden = _advance(model, cache, ids[:, None], (lengths + step)[:, None])  # (B, 1, C)
        ids, logp = _choose(model.head(hidden[:, 0]))
        written.append(ids)
        logps.append(logp)
    return torch.stack(written, dim=1), torch.stack(logps, dim=1)


def _advance(
    model: GPT, cache: torch.Tensor, x: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Run the model on ids x at `positions`, both (B, T), and extend the cache; (B, T, C)."""
    h = model.tok_emb(x)
    if model.pos_emb is not None:
        h = h + model.pos_emb[0, positions]
    for block, kept in zip(model.blocks, cache, strict=True):
        h = h + attend(block.attn, block.ln1(h), Past(kept, positions))
        h = h + block.mlp(block.ln2(h))
    return model.ln_f(h)
