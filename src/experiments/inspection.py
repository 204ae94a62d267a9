"""Look inside a trained model: its answer character by character, its attention, likely places.

    python src/run.py inspect vanilla wiki.txt --reading_params_path vanilla.finetune.params \\
        --outputs_path inspect.html

pages.py writes what is found here as a page, in which inspect.js answers further questions.

The attention weights are read by a hook on each block's `attn_drop`, through which they pass before
they are applied to the values. This works for any attention with the layout of the given one; what
a student's attention passes there is checked first, and if it isn't weights, the page says so.

Glossary of shapes: T, the length of question and answer together; nh as in submission/attention.py;
V, the size of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from pretraining.batches import TextExamples
from pretraining.decoding import ANSWER_STEPS, BATCH_SIZE, greedy_answers
from pretraining.errors import InputError
from pretraining.given import GPT

from .people import encode

LIKELIEST = 5  # number of places listed
RIVALS = 3  # number of characters listed next to the one written
TOLERANCE = 1e-3  # of weights and their sums, which may have been computed in bfloat16


@dataclass(frozen=True)
class Step:
    """A character of an answer, its probability, and the likeliest other characters with theirs."""

    character: str
    probability: float
    rivals: list[tuple[str, float]]


@dataclass(frozen=True)
class Layer:
    """The attention of one block.

    Attributes:
        weights: shape (nh, T, T), float32, on the CPU; row t has the weights of position t. None
            if none were found.
        note: why there are none, or what is wrong with them; "" if all is well.
    """

    weights: torch.Tensor | None
    note: str


@dataclass(frozen=True)
class Inspected:
    """How a model answers a question.

    Attributes:
        name: the model's name, for people.
        question: what it was asked.
        characters: what it read: question, MASK and its own answer, T characters.
        prompt: the number of these that are the question and its MASK.
        answer: what it wrote, without the MASK that ends it.
        ended: whether it wrote that MASK.
        steps: one for each character it wrote, including that MASK.
        probability: of the whole answer, the product over `steps`.
        likeliest: the LIKELIEST of the known places, with their probabilities.
        known, known_share: the number of known places, and the sum of their probabilities.
        layers: one for each block.
        heads: the number of heads in each.
        logits: after each character that it read, shape (T, V), float, on the CPU.
    """

    name: str
    question: str
    characters: list[str]
    prompt: int
    answer: str
    ended: bool
    steps: list[Step]
    probability: float
    likeliest: list[tuple[str, float]]
    known: int
    known_share: float
    layers: list[Layer]
    heads: int
    logits: torch.Tensor


@torch.no_grad()
def look_inside(
    name: str, model: GPT, dataset: TextExamples, question: str, places: Iterable[str]
) -> Inspected:
    """Let a model answer a question, and collect everything that the page shows.

    Args:
        name: the model's name, for people.
        model: a finetuned one, on any device.
        dataset: has the meaning of the ids.
        question: such as "Where was Ada Byron born?"; the MASK after it is added here.
        places: the places whose probabilities are compared, without repetitions.

    Raises:
        InputError: the model can't read the question, or its scores are not finite.
    """
    model.eval()
    prompt = encode(dataset, question + dataset.MASK_CHAR)
    longest = model.get_block_size() - ANSWER_STEPS
    if len(prompt) > longest:
        raise InputError(
            f"got a question of {len(question)} characters, expected at most {longest - 1}: the "
            f"model reads {model.get_block_size()} characters, of which the answer may take "
            f"{ANSWER_STEPS}"
        )
    stop = dataset.stoi[dataset.MASK_CHAR]
    ids, _ = greedy_answers(model, [prompt], stop, ANSWER_STEPS)[0]
    ended = len(ids) < ANSWER_STEPS
    steps = [
        _step(model, dataset, prompt + ids[:count], written)
        for count, written in enumerate([*ids, stop] if ended else ids)
    ]
    ranked = ranked_places(model, dataset, prompt, places)
    x = torch.tensor([prompt + ids], device=next(model.parameters()).device)
    return Inspected(
        name=name,
        question=question,
        characters=[dataset.itos[i] for i in prompt + ids],
        prompt=len(prompt),
        answer="".join(dataset.itos[i] for i in ids),
        ended=ended,
        steps=steps,
        probability=math.prod(step.probability for step in steps),
        likeliest=ranked[:LIKELIEST],
        known=len(ranked),
        known_share=sum(probability for _, probability in ranked),
        layers=attention_of(model, prompt + ids),
        heads=model.config.n_head,
        logits=model(x)[0][0].cpu(),  # (T, V)
    )


def _log_probabilities(model: GPT, ids: list[list[int]], last: int) -> torch.Tensor:
    """Return the log-probability of each id after each of the last `last` positions.

    Returns:
        shape (B, last, V), double, on the CPU.

    Raises:
        InputError: the model's scores are not finite.
    """
    x = torch.tensor(ids, device=next(model.parameters()).device)  # (B, T)
    logits = model(x)[0][:, -last:].double().cpu()  # (B, last, V)
    if not torch.isfinite(logits).all():
        raise InputError(
            "the model's scores are nan or infinite, expected finite numbers (did its training "
            "diverge, or does its attention divide by 0?)"
        )
    return F.log_softmax(logits, dim=-1)


def _step(model: GPT, dataset: TextExamples, before: list[int], written: int) -> Step:
    """Return the step that wrote one id after the ids `before`."""
    probabilities = _log_probabilities(model, [before], 1)[0, 0].exp()  # (V,)
    order = probabilities.argsort(descending=True).tolist()
    rivals = [i for i in order if i != written][:RIVALS]
    return Step(
        dataset.itos[written],
        float(probabilities[written]),
        [(dataset.itos[i], float(probabilities[i])) for i in rivals],
    )


def ranked_places(
    model: GPT, dataset: TextExamples, prompt: list[int], places: Iterable[str]
) -> list[tuple[str, float]]:
    """Return places with their probabilities as answers to a prompt, the likeliest first.

    A probability is the product over the place's characters and the MASK that ends it, so the
    probabilities of different places sum to at most 1. Places that the model can't write, because
    the corpus lacks a character or the block is too short, are left out.
    """
    room = model.get_block_size() - len(prompt)
    writable = [p for p in places if len(p) <= room and set(p) <= set(dataset.stoi)]
    answers = [encode(dataset, place + dataset.MASK_CHAR) for place in writable]
    logp = continuations(model, [(prompt, answer) for answer in answers])
    found = [(place, math.exp(each)) for place, each in zip(writable, logp, strict=True)]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


@torch.no_grad()
def continuations(model: GPT, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
    """Return the log-probability, in nats, that a model continues some ids with others.

    Args:
        model: on any device, in eval mode.
        pairs: the ids that are read, at least one, and those that should follow; without the last
            one, they must fit into the model's block together.

    Raises:
        InputError: the model's scores are not finite.
    """
    found = [0.0] * len(pairs)
    rows = [read + follows[:-1] for read, follows in pairs]
    for batch in _of_one_length(rows):
        last = max(len(pairs[i][1]) for i in batch)
        logp = _log_probabilities(model, [rows[i] for i in batch], last)  # (B, last, V)
        for i, row in zip(batch, logp.numpy(), strict=True):
            follows = pairs[i][1]
            found[i] = float(row[range(last - len(follows), last), follows].sum())
    return found


def _of_one_length(rows: list[list[int]]) -> Iterator[list[int]]:
    """Return batches of indices of rows of equal length, so that nothing depends on padding."""
    for length in sorted({len(row) for row in rows}):
        same = [number for number, row in enumerate(rows) if len(row) == length]
        for start in range(0, len(same), BATCH_SIZE):
            yield same[start : start + BATCH_SIZE]


@torch.no_grad()
def attention_of(model: GPT, ids: list[int]) -> list[Layer]:
    """Run a model on ids, and return what passed through each block's attn_drop."""
    x = torch.tensor([ids], device=next(model.parameters()).device)
    attentions = [getattr(block, "attn", None) for block in getattr(model, "blocks", [])]
    return weights_passed(attentions, lambda: model(x), model.config.n_head, len(ids))


def weights_passed(
    attentions: Sequence[object], run: Callable[[], object], n_head: int, length: int
) -> list[Layer]:
    """Call `run`, and return what passed through the attn_drop of each attention meanwhile."""
    passed: list[list[object]] = [[] for _ in attentions]
    hooks = []
    for attention, kept in zip(attentions, passed, strict=True):
        drop = getattr(attention, "attn_drop", None)
        if isinstance(drop, torch.nn.Module):
            hooks.append(drop.register_forward_hook(_keeper(kept)))
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return [read_weights(kept, n_head, length) for kept in passed]


def _keeper(kept: list[object]) -> Callable[..., None]:
    """Return a forward hook that appends a module's output to `kept`."""

    def keep(module: torch.nn.Module, inputs: tuple, output: object) -> None:
        # A copy: the output may be modified in place later.
        kept.append(output.detach().cpu().clone() if torch.is_tensor(output) else output)

    return keep


def read_weights(passed: list[object], n_head: int, length: int) -> Layer:
    """Check that attention weights passed through attn_drop.

    Args:
        passed: the output of each call.
        n_head: how many heads there should be.
        length: T.
    """
    expected = f"expected weights of shape (1, {n_head}, {length}, {length})"
    if not passed:
        return Layer(None, "There is nothing to show: nothing passes through attn_drop.")
    if len(passed) > 1:
        return Layer(None, f"attn_drop is called {len(passed)} times, expected one call.")
    (weights,) = passed
    if not torch.is_tensor(weights) or not weights.is_floating_point():
        kind = weights.dtype if torch.is_tensor(weights) else type(weights).__name__
        return Layer(None, f"What passes through attn_drop is {kind}, {expected}.")
    if weights.shape != (1, n_head, length, length):
        shape = tuple(weights.shape)
        return Layer(None, f"What passes through attn_drop has the shape {shape}, {expected}.")
    weights = weights[0].float()  # (nh, T, T)
    sums = weights.sum(dim=-1)
    if not torch.isfinite(weights).all() or weights.min() < -TOLERANCE:
        return Layer(
            None, "What passes through attn_drop has entries that are negative, infinite or nan."
        )
    if (sums - 1).abs().max() > TOLERANCE:
        return Layer(
            None,
            f"The rows of what passes through attn_drop have sums from {sums.min():.3g} to "
            f"{sums.max():.3g}, expected 1 (is it called before the softmax?).",
        )
    later = float(weights.triu(1).max())
    note = f"A position gives a later one a weight of {later:.3g}: is the causal mask missing?"
    return Layer(weights, note if later > TOLERANCE else "")
