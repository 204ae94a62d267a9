"""The commands of run.py that examine a model: cloze, calibration, inspect and recall."""

import argparse
from pathlib import Path
from typing import cast

import torch

from inputs import build_model, find_data, predict, read_answered
from pretraining.errors import InputError
from pretraining.files import write_atomically
from pretraining.recipes import Recipe
from submission import utils
from submission.dataset import CharCorruptionDataset
from submission.model import GPT, Block, GPTConfig

from . import calibration, cloze, inspection, pages, recall
from .people import people_of

# The tables in which people are looked up unless an option names others.
TRAIN, DEV = "birth_places_train.tsv", "birth_dev.tsv"


def run_cloze(
    args: argparse.Namespace, recipe: Recipe, dataset: CharCorruptionDataset, model: GPT
) -> None:
    """Ask a pretrained model in several wordings; print the share of right choices."""
    files = {"train": args.finetune_corpus_path or TRAIN, "dev": args.eval_corpus_path or DEV}
    groups = {}
    for split, file in files.items():
        found, questions, places = read_answered(file)
        try:
            groups[split] = people_of(questions, places)
        except InputError as error:
            raise InputError(f"{found}: {error}") from None
    model.load_state_dict(utils.load_parameters(args.reading_params_path, model))
    for line in cloze.lines(cloze.ask(model, dataset, groups), list(groups)):
        print(line, flush=True)
    known = {person.place for group in groups.values() for person in group}
    print(f"Each question is a choice among at most {min(cloze.CHOICES, len(known))} places.")


def run_calibration(
    args: argparse.Namespace, recipe: Recipe, dataset: CharCorruptionDataset, model: GPT
) -> None:
    """Compare a finetuned model's probabilities with its accuracy, in a picture and a table."""
    found, questions, places = read_answered(args.eval_corpus_path or DEV)
    unseen = find_data(args.unseen_corpus_path)
    model.load_state_dict(utils.load_parameters(args.reading_params_path, model))
    pairs = list(zip(predict(model, dataset, found, questions), places, strict=True))
    made_up = predict(model, dataset, unseen, utils.read_places(unseen)[0])
    answers = calibration.Answers(
        right=[p.probability for p, place in pairs if p.place == place],
        wrong=[p.probability for p, place in pairs if p.place != place],
        unseen=[p.probability for p in made_up],
    )
    write_atomically(args.outputs_path, calibration.draw(answers, args.variant))
    print(calibration.table(answers))
    print(f"Wrote {args.outputs_path}.")


def run_inspect(
    args: argparse.Namespace, recipe: Recipe, dataset: CharCorruptionDataset, model: GPT
) -> None:
    """Write a page that shows how one model, or two, answer a question."""
    _, asked, answers = read_answered(args.finetune_corpus_path or TRAIN)
    _, more_asked, more_answers = read_answered(args.eval_corpus_path or DEV)
    recorded = dict(zip(asked + more_asked, answers + more_answers, strict=True))
    question = args.question or more_asked[0]
    models = [(args.variant, model, args.reading_params_path)]
    if args.second_variant is not None:
        config = GPTConfig(dataset.vocab_size, **recipe.model_of(args.second_variant))
        second = build_model(args.second_variant, config, next(model.parameters()).device)
        models.append((args.second_variant, second, args.second_params_path))
    places = sorted(set(recorded.values()))
    inspected: list[tuple[inspection.Inspected, GPT]] = []
    for variant, each, path in models:
        each.load_state_dict(utils.load_parameters(path, each))
        name = f"{variant}: {path}"
        try:
            answer = inspection.look_inside(name, each, dataset, question, places)
        except InputError as error:
            raise InputError(f"{path}, {question!r}: {error}") from None
        inspected.append((answer, each))
        print(f"{name}: {answer.answer!r}, probability {answer.probability:.1%}")
    beside = Path(args.outputs_path).with_suffix(".params.js")
    write_atomically(beside, pages.parameters([each for _, each in inspected]))
    write_atomically(args.outputs_path, pages.page(inspected, dataset, recorded, beside.name))
    print(f"Wrote {args.outputs_path}: open it in a browser.")
    print(f"Wrote {beside} for it, which holds your parameters: don't post that file.")


def run_recall(args: argparse.Namespace, device: torch.device) -> None:
    """Train one layer of a variant's attention on associative recall; print its accuracy."""
    config = GPTConfig(vocab_size=1, **recall.SHAPE, **recall.DROPOUT)
    block = cast("Block", build_model(args.variant, config, device).blocks[0])
    parameters = sum(parameter.numel() for parameter in block.attn.parameters())
    name = type(block.attn).__name__
    print(f"recall {args.variant}: one layer of {name}, {parameters:,} parameters")
    print(f"Right: {recall.learn(block.attn, device)} nats")
