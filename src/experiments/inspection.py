"""Look inside a trained model: its answer character by character, its attention, likely places.

    python src/run.py inspect vanilla wiki.txt --reading_params_path vanilla.finetune.params \\
        --outputs_path inspect.html

The page is inspect.html.j2 with inspect.js in it, which answers further questions: it computes the
model from its parameters, in a script beside the page. Nothing comes from a network: a page that is
opened as a file can't fetch files, but it can run a script.

The attention weights are read by a hook on each block's `attn_drop`, through which they pass before
they are applied to the values. This works for any attention with the layout of the given one; what
a student's attention passes there is checked first, and if it isn't weights, the page says so.

Glossary of shapes: T, the length of question and answer together; C, nh as in
submission/attention.py; V, the size of the vocabulary.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from inputs import Setting, build_model, load, read_answered
from pretraining import GPT, InputError, has_given_blocks, parameter_files
from pretraining.batches import TextExamples
from pretraining.decoding import ANSWER_STEPS, greedy_answers
from pretraining.files import write_atomically
from submission.model import GPTConfig

from .people import DEV, TRAIN, continuations, encode, finite_logits

TOLERANCE = 1e-3  # of weights and their sums, which may have been computed in bfloat16
ROLES = ("letter before", "first name", "surname", "MASK", "elsewhere")  # of heads (ablate.py)
LIVE = ("vanilla", "rope", "synthesizer")  # what inspect.js computes
WARNING = "// The parameters that you trained, for the page beside this file. Don't post them."


@dataclass(frozen=True)
class Layer:
    """The attention of one block: row t of the weights, (nh, T, T), float, is of position t."""

    weights: torch.Tensor | None  # on the CPU; None if none were found
    note: str  # why there are none, or what is wrong with them; "" if all is well


@dataclass(frozen=True)
class Inspected:
    """How a model answers a question."""

    name: str  # the model's, for people
    question: str
    characters: list[str]  # what it read: question, MASK and its own answer, T of them
    prompt: int  # the number of these that are the question and its MASK
    answer: str  # what it wrote, without the MASK that ends it
    probability: float  # of the whole answer, including that MASK
    places: list[tuple[str, float]]  # the known ones, with their probabilities, likeliest first
    layers: list[Layer]
    logits: torch.Tensor  # after each character that it read, (T, V), on the CPU


def run(setting: Setting) -> None:
    """Write a page that shows how one model, or two, answer a question."""
    args, dataset = setting.args, setting.dataset
    _, train, train_places = read_answered(args.finetune_corpus_path or TRAIN)
    _, dev, dev_places = read_answered(args.eval_corpus_path or DEV)
    recorded = dict(zip(train + dev, train_places + dev_places, strict=True))
    question = args.question or dev[0]
    models = [(args.variant, setting.model, args.reading_params_path)]
    if args.second_variant is not None:
        config = GPTConfig(dataset.vocab_size, **setting.recipe.model_of(args.second_variant))
        second = build_model(args.second_variant, config, setting.device)
        models.append((args.second_variant, second, args.second_params_path))
    places = sorted(set(recorded.values()))
    inspected: list[tuple[Inspected, GPT]] = []
    for variant, model, path in models:
        load(model, path)
        name = f"{variant}: {path}"
        try:
            answer = look_inside(name, model, dataset, question, places)
        except InputError as error:
            raise InputError(f"{path}, {question!r}: {error}") from None
        inspected.append((answer, model))
        print(f"{name}: {answer.answer!r}, probability {answer.probability:.1%}")
    beside = Path(args.outputs_path).with_suffix(".params.js")
    write_atomically(beside, parameters([model for _, model in inspected]))
    write_atomically(args.outputs_path, page(inspected, dataset, recorded, beside.name))
    print(f"Wrote {args.outputs_path}: open it in a browser.")
    print(f"Wrote {beside} for it, which holds your parameters: don't post that file.")


@torch.no_grad()
def look_inside(
    name: str, model: GPT, dataset: TextExamples, question: str, places: Iterable[str]
) -> Inspected:
    """Let a model answer a question, and collect everything that the page shows.

    Args:
        name: the model's, for people.
        model: a finetuned one, on any device.
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
    ids, probability = greedy_answers(model, [prompt], stop, ANSWER_STEPS)[0]
    read, logits = prompt + ids, [finite_logits(model, [prompt], len(prompt))[0]]
    for count in range(len(prompt) + 1, len(read) + 1):
        # From what came before alone: an attention of one's own may look ahead.
        logits.append(finite_logits(model, [read[:count]], 1)[0])
    return Inspected(
        name=name,
        question=question,
        characters=[dataset.itos[i] for i in read],
        prompt=len(prompt),
        answer="".join(dataset.itos[i] for i in ids),
        probability=probability,
        places=ranked_places(model, dataset, prompt, places),
        layers=attention_of(model, read),
        logits=torch.cat(logits),
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
    pairs = [(place, math.exp(each)) for place, each in zip(writable, logp, strict=True)]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


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
    passed: list[list[Any]] = [[] for _ in attentions]
    with ExitStack() as hooks:
        for attention, kept in zip(attentions, passed, strict=True):
            drop = getattr(attention, "attn_drop", None)
            if isinstance(drop, torch.nn.Module):
                hooks.enter_context(drop.register_forward_hook(partial(_keep, kept)))
        run()
    return [read_weights(kept, n_head, length) for kept in passed]


def _keep(kept: list[Any], module: torch.nn.Module, inputs: tuple, output: object) -> None:
    # A copy: the output may be modified in place later.
    kept.append(output.detach().cpu().clone() if isinstance(output, torch.Tensor) else output)


def stacked(layers: Iterable[Layer]) -> torch.Tensor:
    """Return the weights of all layers, (layers, nh, T, T); an InputError says why one has none."""
    weights = []
    for number, layer in enumerate(layers, start=1):
        if layer.weights is None:
            raise InputError(f"block {number}: {layer.note}")
        weights.append(layer.weights)
    return torch.stack(weights)


def read_weights(passed: list[Any], n_head: int, length: int) -> Layer:
    """Check that attention weights of n_head heads passed in a single call; `length` is T."""
    if len(passed) != 1:
        calls = f"attn_drop is called {len(passed)} times, expected one call."
        return Layer(None, f"There is nothing to show: {calls}")
    (weights,), shape = passed, (1, n_head, length, length)
    is_float = torch.is_tensor(weights) and weights.is_floating_point()
    if not is_float or weights.shape != shape:
        got = type(weights).__name__
        if torch.is_tensor(weights):
            got = f"{weights.dtype} of shape {tuple(weights.shape)}"
        expected = f"expected weights of shape {shape}"
        return Layer(None, f"What passes through attn_drop is {got}, {expected}.")
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


def page(
    models: Sequence[tuple[Inspected, GPT]],
    dataset: TextExamples,
    recorded: Mapping[str, str],
    parameters: str,
) -> str:
    """Return the page about one model, or several that were asked the same question.

    Args:
        recorded: the places in the tables of people, by question.
        parameters: the name of the file with the parameters, in the page's folder.
    """
    import jinja2  # here, so that the other commands need no such package

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": _plain}
    letters = [dataset.itos[i] for i in range(len(dataset.itos))]
    known = "".join(f"\\u{{{ord(each):x}}}" for each in letters if each != dataset.MASK_CHAR)
    return environment.get_template("inspect.html.j2").render(
        page={
            "letters": letters,
            "mask": dataset.MASK_CHAR,
            "models": [
                vars(inspected) | {"heads": model.config.n_head, "live": is_live(model)}
                for inspected, model in models
            ],
            "places": sorted(set(recorded.values())),
            "recorded": {question: f"say {place}" for question, place in recorded.items()},
            "steps": ANSWER_STEPS,
            "unrecorded": "don't contain this question",
        },
        longest=min(model.get_block_size() for _, model in models) - ANSWER_STEPS - 1,
        parameters=parameters,
        pattern=f"[{known}]+",
        roles=ROLES,
        script=Path(__file__).with_name("inspect.js").read_text(encoding="utf-8"),
    )


def _plain(value: Any) -> Any:
    """Return as plain data what JSON doesn't know: a tensor, or one of the classes above."""
    return value.double().round(decimals=4).tolist() if torch.is_tensor(value) else vars(value)


def is_live(model: GPT) -> bool:
    """Return whether inspect.js can compute a model."""
    return has_given_blocks(model) and model.variant in LIVE


def parameters(models: Sequence[GPT]) -> str:
    """Return a script with the parameters of models; null if one isn't live."""
    shown = [
        {
            "heads": model.config.n_head,
            "layers": model.config.n_layer,
            "apart": _apart(model),
            "tensors": {
                name: _numbers(tensor.cpu())
                for name, tensor in parameter_files.weights(model.state_dict()).items()
            },
        }
        if is_live(model)
        else None
        for model in models
    ]
    return f"{WARNING}\nwindow.parameters = {json.dumps(shown)};\n"


def _numbers(tensor: torch.Tensor) -> str | list[float]:
    """Return a tensor in half precision and base64; a vector as a list, which is more precise.

    Rounding the few numbers of LayerNorm would change logits as much as rounding all others.
    """
    if tensor.dim() == 1:
        return tensor.tolist()
    return base64.b64encode(tensor.half().numpy().astype("<f2").tobytes()).decode("ascii")


def _apart(model: GPT) -> int:
    """Return the distance of the channels that RoPE turns together, 0 without it.

    The given ones are neighbours; students may choose k and k + hs/2 instead.
    """
    if not model.config.rope:
        return 0
    hs = model.config.n_embd // model.config.n_head
    x = torch.zeros(1, model.config.n_head, 2, hs, device=next(model.parameters()).device)
    x[..., 0] = 1  # the first of the first pair, which position 1 turns
    turned = model.blocks[0].attn.with_positions(x)[0, 0, 1]  # (hs,)
    return int(turned[1:].abs().argmax()) + 1
