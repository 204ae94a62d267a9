"""The commands of run.py that examine a model, and experiments.json, where experiments are kept.

No experiment shows a result before a prediction was made. Students quote both in their answers.
Nobody can prove which came first, and the sheet says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from inputs import Setting, build_model, find_data, predict, read_answered
from pretraining import InputError
from pretraining.files import write_atomically
from submission import utils
from submission.model import GPT, Block, GPTConfig

from . import ablate, calibration, gaps, inspection, overwrite, recall, trace, trainings
from .estimates import Results
from .people import DEV, TEST, TRAIN, names_in, people_in

FILE = "experiments.json"
LEAST_WORDS = 5  # of a prediction


def load(model: GPT, path: str) -> Mapping[str, torch.Tensor]:
    """Give a model the parameters in a file; return them."""
    parameters = utils.load_parameters(path, model)
    model.load_state_dict(parameters)
    return parameters


# -- looking into a model -------------------------------------------------------------------------


def run_cloze(setting: Setting) -> None:
    """Ask a pretrained model in several wordings; print the share of right choices."""
    args = setting.args
    groups = {
        "train": people_in(args.finetune_corpus_path or TRAIN),
        "dev": people_in(args.eval_corpus_path),
    }
    load(setting.model, args.reading_params_path)
    for line in gaps.lines(gaps.ask(setting.model, setting.dataset, groups), list(groups)):
        print(line, flush=True)
    known = {person.place for group in groups.values() for person in group}
    print(f"Each question is a choice among at most {min(gaps.CHOICES, len(known))} places.")


def run_calibration(setting: Setting) -> None:
    """Compare a finetuned model's probabilities with its accuracy, in a picture and a table."""
    args = setting.args
    path, questions, places = read_answered(args.eval_corpus_path or DEV)
    unseen = find_data(args.unseen_corpus_path)
    load(setting.model, args.reading_params_path)
    pairs = list(zip(predict(setting.model, setting.dataset, path, questions), places, strict=True))
    made_up = predict(setting.model, setting.dataset, unseen, utils.read_places(unseen)[0])
    answers = calibration.Answers(
        right=[p.probability for p, place in pairs if p.place == place],
        wrong=[p.probability for p, place in pairs if p.place != place],
        unseen=[p.probability for p in made_up],
    )
    write_atomically(args.outputs_path, calibration.draw(answers, args.variant))
    print(calibration.report(answers))
    print(f"Wrote {args.outputs_path}.")


def run_inspect(setting: Setting) -> None:
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
    inspected: list[tuple[inspection.Inspected, GPT]] = []
    for variant, model, path in models:
        load(model, path)
        name = f"{variant}: {path}"
        try:
            answer = inspection.look_inside(name, model, dataset, question, places)
        except InputError as error:
            raise InputError(f"{path}, {question!r}: {error}") from None
        inspected.append((answer, model))
        print(f"{name}: {answer.answer!r}, probability {answer.probability:.1%}")
    beside = Path(args.outputs_path).with_suffix(".params.js")
    write_atomically(beside, inspection.parameters([model for _, model in inspected]))
    write_atomically(args.outputs_path, inspection.page(inspected, dataset, recorded, beside.name))
    print(f"Wrote {args.outputs_path}: open it in a browser.")
    print(f"Wrote {beside} for it, which holds your parameters: don't post that file.")


def attention(setting: Setting, shape: dict[str, Any], device: torch.device) -> torch.nn.Module:
    """Return the variant's attention, new, of a model's shape."""
    config = GPTConfig(vocab_size=1, **shape, **recall.DROPOUT)
    return cast("Block", build_model(setting.args.variant, config, device).blocks[0]).attn


def run_recall(setting: Setting) -> None:
    """Train one layer of a variant's attention on associative recall; print its accuracy."""
    attn = attention(setting, recall.ONE_LAYER, setting.device)
    parameters = sum(parameter.numel() for parameter in attn.parameters())
    name = type(attn).__name__
    print(f"recall {setting.args.variant}: one layer of {name}, {parameters:,} parameters")
    print(f"Right: {recall.recall(attn, setting.device)} nats")


# -- experiments ----------------------------------------------------------------------------------


def run_trace(setting: Setting) -> Results:
    """Trace the dev people's answers, in the model and in an untrained one."""
    trios = trace.trios(people_in(setting.args.eval_corpus_path))
    untrained = build_model(setting.args.variant, setting.model.config, setting.device)
    trained = trace.trace(setting.model, setting.dataset, trios)
    return trace.report(trained, trace.trace(untrained, setting.dataset, trios), len(trios))


def run_ablate(setting: Setting) -> Results:
    """Ablate each part, and ask about the dev people."""
    people = people_in(setting.args.eval_corpus_path)
    questions = ablate.Questions(setting.dataset, people, setting.device)
    whole = ablate.answers(setting.model.eval(), questions)
    results = ablate.ablate(setting.model, questions)
    looks = ablate.roles(setting.model, setting.dataset, people[: ablate.LOOKED_AT])
    return ablate.report(results, whole, looks)


def run_induction(setting: Setting) -> Results:
    """Grow models of one and two layers."""
    scores: Any = None
    with contextlib.suppress(ImportError):  # an edition without their question lacks the functions
        from submission import induction_scores

        scores = induction_scores if hasattr(induction_scores, "induction_score") else None

    def build(heads: int) -> torch.nn.Module:
        return attention(setting, recall.TWO_LAYERS | {"n_head": heads}, torch.device("cpu"))

    grown = []
    for each in recall.grow_all(build, scores, setting.args.digits, setting.args.seed):
        grown.append(each)
        print(f"layers {each.layers}, heads {each.heads}: {each.held_out:.1%} right", flush=True)
    return recall.report(grown)


def run_reverse(setting: Setting) -> Results:
    """Ask about train and dev people in both directions."""
    train, dev = setting.args.finetune_corpus_path or TRAIN, setting.args.eval_corpus_path
    groups = gaps.groups_of([*people_in(train), *people_in(dev)])
    return gaps.report(gaps.choose(setting.model, setting.dataset, groups))


def run_overwrite(setting: Setting) -> Results:
    """Teach each set made of one half of dev, and ask about the other half."""
    people, strangers = people_in(setting.args.eval_corpus_path), setting.args.unseen_corpus_path
    halves, seeds = (people[: len(people) // 2], people[len(people) // 2 :]), [setting.args.seed]
    return overwrite.report(
        overwrite.overwrite(setting.model, setting.dataset, halves, names_in(strangers), seeds)
    )


def run_wordings(setting: Setting) -> Results:
    """Pretrain on one wording and on four, finetune both, and ask about the dev people."""
    corpus, _, _ = read_answered(setting.args.finetune_corpus_path or TRAIN)
    people = people_in(setting.args.eval_corpus_path)
    names = [*names_in(TRAIN), *names_in(DEV), *names_in(TEST)]
    return trainings.report_wordings(
        [
            trainings.learn(setting, corpus, names, people, count, factor)
            for count, factor in trainings.WORDINGS_AND_STEPS
        ]
    )


def run_compare(setting: Setting) -> Results:
    """Pretrain two variants for equally many steps, finetune them, and ask about the dev people."""
    args = setting.args
    corpus, _, _ = read_answered(args.finetune_corpus_path or TRAIN)
    people = people_in(args.eval_corpus_path)
    variants, seeds = (args.variant, args.second_variant), (args.seed, args.seed + 1)
    results = []
    for each in trainings.train_all(setting, variants, seeds, corpus, people):
        results.append(each)
        right = int(sum(each.right))
        print(f"{each.variant}, seed {each.seed}: {right} of {len(people)} right", flush=True)
    return trainings.report_comparison(results)


EXPERIMENTS: dict[str, Callable[[Setting], Results]] = {
    "trace": run_trace,
    "ablate": run_ablate,
    "induction": run_induction,
    "reverse": run_reverse,
    "overwrite": run_overwrite,
    "wordings": run_wordings,
    "compare": run_compare,
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
    kept: dict[str, Any] = {}
    if path.exists():
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if not all(isinstance(each["prediction"], str) for each in kept.values()):
                raise TypeError
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"{path} is damaged: move it away, and run your experiments again"
            ) from None
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
