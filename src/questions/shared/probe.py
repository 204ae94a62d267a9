"""Probes of models: their structure and outputs, the answers that a file's parameters give, and the
probabilities that a model with them assigns to text, as evidence that it was pretrained; and what
topics' own probes need to make models and to describe tensors.

Nothing is trained or sampled here. The reference's code runs these probes with a student's
parameters; staff's module `evidence` judges. A `model` is what `loaded` needs to make one.
"""

import argparse
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from grading.worker import Context

from .shapes import form_of

DTYPES = {"float32": torch.float32, "float64": torch.float64}
Weights = dict[str, np.ndarray]  # a model's parameters by name
LONGEST_NAME = 200  # characters; names in a model have a few dozen
MOST_TENSORS = 1_000  # a model has a few dozen
MOST_NUMBERS = 12_000_000  # the largest recipe's model has 3.4 million
BATCH = 32  # rows at once: an `original` model's logits of 32 rows take 5 MB


def reports_wrong_returns(probe: Callable[..., dict]) -> Callable[..., dict]:
    """Make a probe answer with models.WRONG_RETURN if a function returns the wrong thing."""

    @functools.wraps(probe)
    def reporting(*arguments: Any, **more: Any) -> dict[str, Any]:
        from pretraining.returned import WrongReturn  # here, as in `build`

        try:
            return probe(*arguments, **more)
        except WrongReturn as wrong:
            return {"wrong_return": str(wrong)}

    return reporting


def read_parameters(context: Context, name: str) -> dict[str, Any]:
    """Read a parameter file, without importing anything of the submission's code.

    Buffers (the attention mask, the angles) and anything other than floating-point tensors are
    left out.

    Returns:
        problem: "", or why the file can't be read; names and arrays (float32) of the parameters.
    """
    # The grader's own copy, which is staged beside the files.
    from pretraining import InputError, parameter_files

    try:
        weights = parameter_files.weights(parameter_files.read(context.files / name, name))
        # What is sent has to fit in an answer, which holds three of any recipe's model.
        fits = len(weights) <= MOST_TENSORS and max(map(len, weights), default=0) <= LONGEST_NAME
        if not fits or sum(tensor.numel() for tensor in weights.values()) > MOST_NUMBERS:
            raise InputError(f"{name} is far larger than any recipe's model")
        arrays = [w.to(torch.float32).contiguous().numpy() for w in weights.values()]
    except Exception as error:
        unforeseen = f"{name} can't be read as parameters: {type(error).__name__}"
        problem = str(error) if isinstance(error, InputError) else unforeseen
        return {"problem": problem, "names": [], "arrays": []}
    return {"problem": "", "names": list(weights), "arrays": arrays}


def shapes(context: Context, variant: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return the names and shapes of a variant's parameters."""
    return _shapes(build(variant, config))


def _shapes(model: Any) -> dict[str, Any]:
    named = {name: list(p.shape) for name, p in model.named_parameters()}
    return {"names": list(named), "shapes": list(named.values())}


@reports_wrong_returns
def model_variant(context: Context, variant: str, config: dict[str, Any]) -> dict[str, Any]:
    """Build a model as `run.py` does, and describe its structure.

    Returns:
        attentions: the class of each block's attention, e.g. "attention.SynthesizerAttention";
        names, shapes: of the model's parameters.
    """
    model = build(variant, config)
    kinds = [type(getattr(block, "attn", None)) for block in getattr(model, "blocks", ())]
    names = [f"{k.__module__}.{k.__name__}".removeprefix("submission.") for k in kinds]
    return {"attentions": names} | _shapes(model)


@reports_wrong_returns
def model_logits(
    context: Context, variant: str, config: dict[str, Any], weights: Weights, ids: np.ndarray
) -> dict[str, Any]:
    """Compute logits of a model with these weights, in float64, for ids of shape (B, T)."""
    model = build(variant, config).double().eval()
    with torch.no_grad(), default_dtype("float64"):
        for name, parameter in model.named_parameters():
            array = weights[name][tuple(slice(n) for n in parameter.shape)]
            parameter.copy_(torch.tensor(array))
        logits = first_of(model(torch.tensor(ids)))
    return {"form": form_of_tensor(logits), "logits": array_of(logits)}


def answers(context: Context, model: dict[str, Any], questions: list[str]) -> dict[str, Any]:
    """Return a model's answers, decoded greedily, as run.py writes them."""
    dataset, gpt = loaded(**model)
    return {"places": _answered(gpt, dataset, questions)}


def _answered(gpt: Any, dataset: Any, questions: list[str]) -> list[str]:
    """Return answers in one line each, even if a poorly trained model gives several."""
    from submission.utils import predict_places

    predicted = predict_places(gpt, dataset, questions)
    return [" ".join(p.place.split("\n")).strip() for p in predicted]


def span_log_probabilities(
    context: Context, model: dict[str, Any], texts: list[str], starts: list[int], stops: list[int]
) -> dict[str, Any]:
    """Compute the log-probability of the characters `start` to `stop` - 1 of each text.

    Args:
        texts: strings of the vocabulary, at most block_size characters, e.g. `a⁇c⁇b⁇`.
        starts, stops: which characters count, 1 <= start < stop <= len(text).

    Returns:
        log_probabilities: in nats, float64, one sum for each text.
    """
    dataset, gpt = loaded(**model)
    sums = np.zeros(len(texts))
    with torch.no_grad():
        for rows, ids in _batches(texts, dataset):
            log_p = F.log_softmax(gpt(ids[:, :-1])[0], dim=-1)  # (B, T - 1, V)
            written = log_p.gather(2, ids[:, 1:, None])[:, :, 0].double()  # (B, T - 1)
            for row, each in zip(rows, written, strict=True):
                sums[row] = float(each[starts[row] - 1 : stops[row] - 1].sum())
    return {"log_probabilities": sums}


def differing(
    context: Context, model: dict[str, Any], questions: list[str], predicted: list[str], most: int
) -> dict[str, Any]:
    """Return which predicted places differ from the model's answers, decoded greedily.

    One forward pass over `question MASK place MASK` shows whether each character of the place is
    the likeliest after those before it, and so what decoding would have written. Only the other
    lines are decoded: an answer may contain characters that a line of a file can't.

    Args:
        predicted: a place for each question, one line each, without surrounding blanks.
        most: once more lines than this differ, the others are not examined.

    Returns:
        lines: indices of lines that differ, at most `most` + 1; given: the model's answers.
    """
    dataset, gpt = loaded(**model)
    open_lines = _unlike(gpt, dataset, model["config"]["block_size"], questions, predicted)
    found: list[tuple[int, str]] = []
    while open_lines and len(found) <= most:
        chunk, open_lines = open_lines[:BATCH], open_lines[BATCH:]
        given = _answered(gpt, dataset, [questions[i] for i in chunk])
        found += [(i, g) for i, g in zip(chunk, given, strict=True) if g != predicted[i]]
    del found[most + 1 :]
    return {"lines": [i for i, _ in found], "given": [given for _, given in found]}


def experiment(
    context: Context, name: str, model: dict[str, Any], seed: int, digest: str
) -> dict[str, Any]:
    """Repeat an experiment as `run.py` makes it, with its usual data; `tools.experiments` asks.

    Args:
        digest: nothing is repeated unless the parameters have it; "": whatever they are.

    Returns:
        table: what is printed, or ""; problem: "", or why it is.
    """
    from experiments import commands  # beside the reference, but no submission
    from pretraining import InputError, recipes
    from submission import utils

    utils.set_seed(seed)
    dataset, gpt = loaded(**model)
    if digest not in ("", commands.digest(gpt.state_dict())):
        return {"table": "", "problem": "the results are of other parameters"}
    usual = {"eval_corpus_path": None, "finetune_corpus_path": None}
    args = argparse.Namespace(variant=model["variant"], seed=seed, **usual)
    device = torch.device("cpu")
    setting = commands.Setting(args, recipes.load_recipe(), device, dataset, gpt)
    try:
        text, _ = commands.EXPERIMENTS[name](setting)
    except InputError as error:
        return {"table": "", "problem": str(error)}
    return {"table": "\n".join(text), "problem": ""}


def _unlike(
    gpt: Any, dataset: Any, block_size: int, questions: list[str], predicted: list[str]
) -> list[int]:
    """Return the lines whose place is not made of the likeliest character at each step."""
    from pretraining.decoding import ANSWER_STEPS

    mask, known = dataset.MASK_CHAR, set(dataset.stoi) - {dataset.MASK_CHAR}
    texts = {}
    for i, (question, place) in enumerate(zip(questions, predicted, strict=True)):
        # An answer of the greatest possible length has no MASK at its end.
        text = question + mask + place + mask * (len(place) < ANSWER_STEPS)
        if len(text) <= block_size + 1 and len(place) <= ANSWER_STEPS and set(place) <= known:
            texts[i] = text
    lines, unlike = list(texts), set(range(len(questions)))
    with torch.no_grad():
        for rows, ids in _batches(list(texts.values()), dataset):
            likeliest = gpt(ids[:, :-1])[0].argmax(dim=-1)  # (B, T - 1)
            for row, each, wanted in zip(rows, likeliest, ids[:, 1:], strict=True):
                i = lines[row]
                start, stop = len(questions[i]), len(texts[i]) - 1
                if torch.equal(each[start:stop], wanted[start:stop]):
                    unlike.remove(i)
    return sorted(unlike)


def _batches(texts: list[str], dataset: Any) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Return rows of similar length, so that there is little padding, and their ids, (B, T).

    The causal mask hides what follows a text's end.
    """
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        longest = len(texts[rows[-1]])
        padded = [texts[row].ljust(longest, dataset.PAD_CHAR) for row in rows]
        yield rows, torch.tensor([[dataset.stoi[character] for character in p] for p in padded])


def build(variant: str, config: dict[str, Any]) -> Any:
    """Build a variant's model with the submission's helper.

    What torch.compile made of a model is that model: compiling takes longer than a test may.

    Raises:
        WrongReturn: the helper returned something other than a model.
    """
    import submission.helper as helper  # here, so that a missing file is reported as such
    from pretraining import returned  # here, so that it is the copy that the submission imports
    from submission.model import GPTConfig

    initialize = getattr(helper, f"initialize_{variant}_model")
    model = returned.model(initialize, initialize(GPTConfig(**config)))
    return getattr(model, "_orig_mod", model)


def loaded(variant: str, config: dict[str, Any], weights: Weights, corpus: str) -> tuple[Any, Any]:
    """Build the corpus's dataset, for its vocabulary, and a model with these parameters.

    Args:
        config: fields of GPTConfig except vocab_size, which the corpus determines.
        corpus: the pretraining text without its final newline.
    """
    from submission.dataset import CharCorruptionDataset

    # Denormal numbers (below 1e-38) slow a processor down a hundredfold.
    torch.set_flush_denormal(True)
    dataset = CharCorruptionDataset(corpus, config["block_size"])
    model = build(variant, config | {"vocab_size": dataset.vocab_size})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(weights[name]))
    return dataset, model.eval()


@contextmanager
def default_dtype(dtype: str) -> Iterator[None]:
    """Set torch's default dtype, so that a student's torch.zeros(...) fits the rest."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def first_of(out: Any) -> Any:
    """Return only the output: some earlier versions return (output, something else)."""
    return out[0] if isinstance(out, tuple) else out


def described(outs: list[Any]) -> dict[str, list[Any]]:
    """Return the form of each of some outputs, and its numbers; see models.outputs."""
    return {"forms": list(map(form_of_tensor, outs)), "outputs": list(map(array_of, outs))}


def form_of_tensor(out: Any) -> str:
    """Describe what should be a tensor; `form_of` alone gives arrays the same description."""
    return f"a NumPy array, {form_of(out)}" if isinstance(out, np.ndarray) else form_of(out)


def array_of(out: Any) -> np.ndarray | None:
    """Return a real tensor of reasonable size as a float64 copy; None for anything else."""
    if not isinstance(out, torch.Tensor) or out.is_complex() or out.numel() > 1 << 22:
        return None
    return out.detach().to(torch.float64).cpu().numpy()
