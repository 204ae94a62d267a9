"""The commands of run.py that experiment with a model: trace, ablate, induction, reverse, ..."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch

from inputs import build_model, find_data, predict, read_answered
from pretraining import returned
from pretraining.errors import InputError
from pretraining.files import write_atomically
from pretraining.parameter_files import save_tensors
from pretraining.recipes import Recipe
from submission import helper, utils
from submission.dataset import CharCorruptionDataset
from submission.model import GPT, Block, GPTConfig
from submission.trainer import Trainer

from . import ablate, compare, induction, overwrite, record, reverse, trace, wordings
from .people import Person, people_of

TRAIN, DEV = "birth_places_train.tsv", "birth_dev.tsv"
TEST = "birth_test_inputs.tsv"
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


@dataclass(frozen=True)
class Setting:
    """What an experiment works with; model and dataset are None for `induction`."""

    args: argparse.Namespace
    recipe: Recipe
    device: torch.device
    dataset: Any = None  # a CharCorruptionDataset
    model: Any = None  # a GPT


def run(setting: Setting) -> None:
    """Run an experiment for which there is a prediction; print, draw and keep its results."""
    args = setting.args
    name = args.function
    prediction = record.check_prediction(args.predict, QUESTIONS[name])
    print(f"Your prediction: {prediction}")
    torch.set_num_threads(1)  # batches are small, and threads would wait for each other
    parameters = None
    if args.reading_params_path is not None:
        parameters = utils.load_parameters(args.reading_params_path, setting.model)
        setting.model.load_state_dict(parameters)
    text, picture = EXPERIMENTS[name](setting)
    print("\n".join(text))
    outputs = args.outputs_path or f"{name}.svg"
    write_atomically(outputs, picture)
    record.keep(name, prediction, parameters, args.seed, text)
    print(f"Wrote {outputs}, and your prediction with these results to {record.FILE}.")


def people_in(file: str | None) -> list[Person]:
    """Return the people of a table with answers."""
    found, questions, places = read_answered(file or DEV)
    try:
        return people_of(questions, places)
    except InputError as error:
        raise InputError(f"{found}: {error}") from None


def names_in(file: str) -> list[str]:
    """Return the names in a table, with or without answers."""
    questions, _ = utils.read_places(find_data(file))
    return [person.name for person in people_of(questions, [""] * len(questions))]


def run_trace(setting: Setting) -> tuple[list[str], str]:
    """Trace the dev people's answers, in the model and in an untrained one."""
    trios = trace.trios(people_in(setting.args.eval_corpus_path))
    untrained = build_model(setting.args.variant, setting.model.config, setting.device)
    trained = trace.trace(setting.model, setting.dataset, trios)
    control = trace.trace(untrained, setting.dataset, trios)
    return trace.lines(trained, control, len(trios)), trace.draw(trained, control)


def run_ablate(setting: Setting) -> tuple[list[str], str]:
    """Ablate each part, and ask about the dev people."""
    people = people_in(setting.args.eval_corpus_path)
    questions = ablate.Questions(setting.dataset, people, setting.device)
    setting.model.eval()
    whole = ablate.answers(setting.model, questions)
    results = list(ablate.ablate(setting.model, questions))
    looks = ablate.roles(setting.model, setting.dataset, people[: ablate.LOOKED_AT])
    worst = ablate.worst_head(results, whole)
    return ablate.lines(results, whole, worst, looks), ablate.draw(results, whole)


def scores() -> induction.Scores | None:
    """Return the student's functions; an edition without their question has none."""
    try:
        from submission import induction_scores
    except ImportError:
        return None
    return induction_scores if hasattr(induction_scores, "induction_score") else None


def run_induction(setting: Setting) -> tuple[list[str], str]:
    """Grow models of one and two layers."""
    functions = scores()

    def build(heads: int) -> torch.nn.Module:
        settings = {"n_head": heads, **induction.SHAPE, **induction.DROPOUT}
        config = GPTConfig(vocab_size=1, n_layer=1, **settings)
        model = build_model(setting.args.variant, config, torch.device("cpu"))
        return cast("Block", model.blocks[0]).attn

    grown = []
    for each in induction.grow_all(build, functions, setting.args.digits, setting.args.seed):
        grown.append(each)
        print(f"layers {each.layers}, heads {each.heads}: {each.held_out:.1%} right", flush=True)
    return induction.lines(grown), induction.draw(grown)


def run_reverse(setting: Setting) -> tuple[list[str], str]:
    """Ask about train and dev people in both directions."""
    args = setting.args
    people = [*people_in(args.finetune_corpus_path or TRAIN), *people_in(args.eval_corpus_path)]
    choices = reverse.choose(setting.model, setting.dataset, reverse.groups_of(people))
    return reverse.lines(choices), reverse.draw(choices)


def run_overwrite(setting: Setting) -> tuple[list[str], str]:
    """Teach each set made of one half of dev, and ask about the other half."""
    people = people_in(setting.args.eval_corpus_path)
    halves = people[: len(people) // 2], people[len(people) // 2 :]
    strangers = names_in(setting.args.unseen_corpus_path)
    runs = overwrite.overwrite(
        setting.model, setting.dataset, halves, strangers, [setting.args.seed]
    )
    return overwrite.lines(runs), overwrite.draw(runs)


def pretraining(setting: Setting, dataset: CharCorruptionDataset, model: GPT) -> Trainer:
    """Return the Trainer with which the student's code would pretrain a model."""
    prepared = helper.pretrain(dataset, dataset.block_size, model, recipe=setting.recipe.name)
    return paced(setting, returned.trainer(helper.pretrain, prepared))


def paced(setting: Setting, trainer: Trainer) -> Trainer:
    """Let a training have the data type and the threads that the command's options name."""
    trainer.config.dtype, trainer.config.threads = setting.args.dtype, setting.args.threads
    return trainer


def finetuned_answers(
    setting: Setting, corpus: Path, people: list[Person], model: GPT
) -> list[bool]:
    """Finetune a pretrained model on a table; return which answers about people are right."""
    dataset = setting.dataset
    with tempfile.TemporaryDirectory() as folder:
        params = str(Path(folder) / "pretrained.params")
        save_tensors(model.state_dict(), params)
        prepared = helper.finetune(
            params, str(corpus), dataset, dataset.block_size, model, recipe=setting.recipe.name
        )
    paced(setting, returned.trainer(helper.finetune, prepared)).train()
    answers = predict(model, dataset, corpus, [person.question for person in people])
    return [each.place == person.place for each, person in zip(answers, people, strict=True)]


def run_wordings(setting: Setting) -> tuple[list[str], str]:
    """Pretrain on one wording and on four, finetune both, and ask about the dev people."""
    args, dataset = setting.args, setting.dataset
    corpus, _, _ = read_answered(args.finetune_corpus_path or TRAIN)
    known = people_in(args.eval_corpus_path)
    names = [*names_in(TRAIN), *names_in(DEV), *names_in(TEST)]

    def ask(model: GPT) -> list[bool]:
        return finetuned_answers(setting, corpus, known, model)

    results = []
    for count, factor in wordings.WORDINGS_AND_STEPS:
        utils.set_seed(args.seed)
        model = build_model(args.variant, setting.model.config, setting.device)
        prepare = partial(pretraining, setting)
        results.append(wordings.learn(count, factor, names, known, dataset, model, prepare, ask))
    return wordings.lines(results), wordings.draw(results)


def run_compare(setting: Setting) -> tuple[list[str], str]:
    """Pretrain two variants for equally many steps, finetune them, and ask about the dev people."""
    args, dataset = setting.args, setting.dataset
    corpus, _, _ = read_answered(args.finetune_corpus_path or TRAIN)
    people = people_in(args.eval_corpus_path)

    def prepare(variant: str, seed: int) -> Trainer:
        utils.set_seed(seed)
        config = GPTConfig(dataset.vocab_size, **setting.recipe.model_of(variant))
        return pretraining(setting, dataset, build_model(variant, config, setting.device))

    def ask(model: GPT) -> list[bool]:
        return finetuned_answers(setting, corpus, people, model)

    results = []
    variants, seeds = (args.variant, args.second_variant), (args.seed, args.seed + 1)
    for each in compare.train_all(variants, seeds, prepare, ask):
        results.append(each)
        right = int(sum(each.right))
        print(f"{each.variant}, seed {each.seed}: {right} of {len(people)} right", flush=True)
    return compare.lines(results), compare.draw(results)


EXPERIMENTS: dict[str, Callable[[Setting], tuple[list[str], str]]] = {
    "trace": run_trace,
    "ablate": run_ablate,
    "induction": run_induction,
    "reverse": run_reverse,
    "overwrite": run_overwrite,
    "wordings": run_wordings,
    "compare": run_compare,
}
