"""Probes of the trainings that helper.py sets up; nothing is trained here."""

import inspect
import math
import numbers
from collections.abc import Sized
from typing import Any

import torch

from grading.edition import FIELDS
from grading.worker import Context
from questions.shared.probe import build, reports_wrong_returns


@reports_wrong_returns
def prepared(
    context: Context,
    stage: str,
    variant: str,
    corpus: str,
    pairs: str,
    config: dict[str, Any],
    recipe: str,
) -> dict[str, Any]:
    """Call helper.pretrain or helper.finetune, and describe the training that it prepares.

    Args:
        stage: of the recipe, "pretrain", "finetune_scratch" or "finetune_pretrained". The last one
            starts from the parameters of another model.
        corpus, pairs: contents of the two files.
        config: fields of GPTConfig except vocab_size, which the corpus determines.
    """
    import submission.helper as helper  # here, so that a missing file is reported as such
    from submission.dataset import CharCorruptionDataset

    block_size = config["block_size"]
    dataset = CharCorruptionDataset(corpus, block_size)
    config = config | {"vocab_size": dataset.vocab_size}
    model = build(variant, config)
    if stage == "pretrain":
        returned = _call(helper.pretrain, recipe, dataset, block_size, model)
        return _describe(returned, model, dataset, before=None)
    path, start = None, model
    if stage == "finetune_pretrained":
        start = build(variant, config)
        with torch.no_grad():
            for parameter in start.parameters():
                parameter.normal_()
        path = str(context.scratch / f"{variant}.pretrain.params")
        torch.save(start.state_dict(), path)
    before = {name: p.detach().clone() for name, p in start.named_parameters()}
    table = context.scratch / "birth_places_train.tsv"
    table.write_text(pairs, encoding="utf-8", newline="\n")
    returned = _call(helper.finetune, recipe, path, str(table), dataset, block_size, model)
    return _describe(returned, model, dataset, before)


def london(context: Context, places: list[str]) -> dict[str, Any]:
    """Return what london_baseline returns for a table of people born in `places`."""
    from submission.london_baseline import london_baseline

    table = context.scratch / "birth_somewhere.tsv"
    rows = [f"Where was Person {number} born?\t{place}\n" for number, place in enumerate(places)]
    table.write_text("".join(rows), encoding="utf-8", newline="\n")
    return {"returned": _plain(london_baseline(str(table)))}


def _call(function: Any, recipe: str, *arguments: Any) -> Any:
    """Call a function with a recipe or, if it is from an earlier year, without."""
    accepts = "recipe" in inspect.signature(function).parameters
    return function(*arguments, **({"recipe": recipe} if accepts else {}))


def _describe(returned: Any, model: Any, dataset: Any, before: Any) -> dict[str, Any]:
    """Return the contents of a pair (tconf, trainer_obj) as plain data."""
    parts = returned[:4] if isinstance(returned, tuple | list) else [returned]
    tconf, trainer = parts if len(parts) == 2 else (None, None)
    trained, examples = (getattr(trainer, name, None) for name in ("model", "train_dataset"))
    changed = (
        name
        for name, parameter in model.named_parameters()
        if not torch.equal(parameter.detach().cpu(), before[name])
    )
    return {
        "returned": ", ".join(type(part).__name__ for part in parts),
        "fields": {f: _plain(getattr(tconf, f, None)) for f in FIELDS},
        "dataset": type(examples).__name__,
        "examples": len(examples) if isinstance(examples, Sized) else 0,
        "same_vocabulary": getattr(examples, "stoi", None) == dataset.stoi,
        "trains_given_model": any(
            getattr(trained, wrapped, trained) is model for wrapped in ("module", "_orig_mod")
        ),
        "same_config": getattr(trainer, "config", None) is tconf and tconf is not None,
        # The first parameter that differs from its expected starting value; "" if none does.
        "changed": None if before is None else next(changed, ""),
    }


def _plain(value: Any) -> Any:
    """Return numbers, strings and pairs of these as Python's own; otherwise the type's name."""
    if isinstance(value, tuple | list):
        return [_simple(item) for item in value[:4]]
    return _simple(value)


def _simple(value: Any) -> Any:
    if type(value) is str:
        return value[:200]
    if isinstance(value, numbers.Real) and type(value) is not bool:  # NumPy's, for example
        value = int(value) if isinstance(value, numbers.Integral) else float(value)
    if type(value) is float and not math.isfinite(value):
        return str(value)
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "an int of more than 64 bits"
    return value if value is None or type(value) in (bool, int, float) else type(value).__name__
