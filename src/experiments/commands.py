"""The commands of run.py that are experiments, and experiments.json, where these are kept.

No experiment shows a result before a prediction was made. Students quote both in their answers.
Nobody can prove which came first, and the sheet says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from inputs import Setting, load
from pretraining import InputError
from pretraining.files import write_atomically

from . import ablate, gaps, overwrite, recall, trace, trainings
from .estimates import Results

FILE = "experiments.json"
LEAST_WORDS = 5  # of a prediction
EXPERIMENTS: dict[str, Callable[[Setting], Results]] = {
    "trace": trace.run,
    "ablate": ablate.run,
    "induction": recall.run_induction,
    "reverse": gaps.run_reverse,
    "overwrite": overwrite.run,
    "wordings": trainings.run_wordings,
    "compare": trainings.run_compare,
}
QUESTIONS = {
    "trace": "After the second block, how much of the person will come through the surname, and "
    "after which block through the MASK? In which cells will a trained model differ from an "
    "untrained one?",
    "ablate": "Which part will cost most answers, a head of the first block or one of the last? "
    "Will it matter whether it is replaced by zero or by its mean?",
    "induction": "How many of the held-out inputs will one layer get right, and how many two? "
    "Where will each layer look?",
    "reverse": "How often will the model choose right forward, and how often backward? Will one "
    "sentence with the city first change that?",
    "overwrite": "Which set will make the model forget most about other people, and which least?",
    "wordings": "Which of the two models will complete its own sentences, and which one will "
    "answer questions?",
    "compare": "After equally many steps, how many questions will each variant answer, and which "
    "one's steps will take longer?",
}


def run_experiment(setting: Setting) -> None:
    """Run an experiment for which there is a prediction; print, draw and keep its results."""
    args, name = setting.args, setting.args.function
    prediction = check_prediction(args.predict, QUESTIONS[name])
    print(f"Your prediction: {prediction}")
    torch.set_num_threads(1)  # batches are small, and threads would wait for each other
    path = args.reading_params_path
    parameters = None if path is None else load(setting.model, path)
    text, picture = EXPERIMENTS[name](setting)
    print("\n".join(text))
    outputs = args.outputs_path or f"{name}.svg"
    write_atomically(outputs, picture)
    if name == "induction":
        text = [f"Digits: {args.digits}, seed {args.seed}.", *text]
        if args.digits == "permutation":
            name = "induction permutation"  # beside the results with digits that repeat
    keep(name, prediction, parameters, args.seed, text)
    print(f"Wrote {outputs}, and your prediction with these results to {FILE}.")


# -- experiments.json -----------------------------------------------------------------------------


def check_prediction(text: str | None, question: str) -> str:
    """Return a prediction; an InputError asks the question if there is none, or it is too short."""
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
    digest = hashlib.sha256()
    for name in sorted(parameters):
        digest.update(name.encode())
        digest.update(parameters[name].detach().cpu().half().contiguous().numpy().tobytes())
    return digest.hexdigest()


def keep(
    experiment: str,
    prediction: str,
    parameters: Mapping[str, torch.Tensor] | None,
    seed: int,
    text: list[str],
) -> None:
    """Add an experiment to FILE; one of the same name is replaced, and its prediction listed.

    Args:
        parameters: of the model that was examined, if one was.
        text: the results, as they were printed.

    Raises:
        InputError: there is a FILE, and it isn't one that this function wrote.
    """
    kept: dict[str, Any] = {}
    try:
        kept = json.loads(Path(FILE).read_text(encoding="utf-8"))
        for each in kept.values():
            listed = each.get("earlier_predictions", [])
            if not isinstance(each["prediction"], str) or not isinstance(listed, list):
                raise TypeError
    except FileNotFoundError:
        pass
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(
            f"{FILE} is damaged: move it away, and run your experiments again"
        ) from None
    earlier = kept.get(experiment, {"prediction": prediction})
    predictions = earlier.get("earlier_predictions", [])
    if earlier["prediction"] != prediction:
        predictions.append(earlier["prediction"])
    kept[experiment] = {
        "prediction": prediction,
        "earlier_predictions": predictions,
        "parameters": None if parameters is None else digest(parameters),
        "seed": seed,
        "results": text,
    }
    write_atomically(FILE, json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
