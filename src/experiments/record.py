"""experiments.json: what a student predicted, and what came out.

No experiment shows a result before a prediction was made. Students quote both in their answers.
Nobody can prove which came first, and the sheet says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from pretraining.errors import InputError
from pretraining.files import write_atomically

FILE = "experiments.json"
LEAST_WORDS = 5  # of a prediction


def check_prediction(text: str | None, question: str) -> str:
    """Return a prediction that says something.

    Args:
        question: what to predict.

    Raises:
        InputError: there is none, or it is too short to be one.
    """
    text = " ".join((text or "").split())
    if len(text.split()) >= LEAST_WORDS:
        return text
    got = f"got {text!r}" if text else "there is none yet"
    raise InputError(
        f"before you see a result, write down what you expect: --predict '...' ({got}, expected at "
        f"least {LEAST_WORDS} words). {question}"
    )


def digest(parameters: Mapping[str, torch.Tensor]) -> str:
    """Return a digest of parameters, rounded to float16, as 64 hexadecimal digits.

    The rounding lets parameters be kept and published in float16: they stay the same ones.
    """
    found = hashlib.sha256()
    for name in sorted(parameters):
        found.update(name.encode())
        found.update(parameters[name].detach().cpu().half().contiguous().numpy().tobytes())
    return found.hexdigest()


def keep(
    experiment: str,
    prediction: str,
    parameters: Mapping[str, torch.Tensor] | None,
    seed: int,
    text: Sequence[str],
    path: Path = Path(FILE),
) -> None:
    """Add an experiment to the file; an earlier one of the same name is replaced, but listed.

    Args:
        parameters: of the model that was examined, if one was.
        text: the results, as they were printed.

    Raises:
        InputError: the file exists, and isn't one that this function wrote.
    """
    kept = read(path)
    earlier = kept.get(experiment, {})
    predictions = [*earlier.get("earlier_predictions", [])]
    if earlier and earlier["prediction"] != prediction:
        predictions.append(earlier["prediction"])
    kept[experiment] = {
        "prediction": prediction,
        "earlier_predictions": predictions,
        "parameters": None if parameters is None else digest(parameters),
        "seed": seed,
        "results": list(text),
    }
    write_atomically(path, json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


def read(path: Path) -> dict[str, Any]:
    """Return what the file has of each experiment; nothing if there is no file.

    Raises:
        InputError: it can't be read.
    """
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if all(isinstance(each["prediction"], str) for each in kept.values()):
            return kept
    except (ValueError, TypeError, KeyError, AttributeError, UnicodeDecodeError):
        pass
    raise InputError(f"{path} is damaged: move it away, and run your experiments again")
