"""Pretrain, finetune, evaluate and examine a model. Run it from the assignment's root.

    python src/run.py pretrain vanilla wiki.txt --writing_params_path vanilla.pretrain.params
    python src/run.py finetune vanilla wiki.txt \\
        --reading_params_path vanilla.pretrain.params \\
        --writing_params_path vanilla.finetune.params \\
        --finetune_corpus_path birth_places_train.tsv
    python src/run.py evaluate vanilla wiki.txt \\
        --reading_params_path vanilla.finetune.params \\
        --eval_corpus_path birth_dev.tsv \\
        --outputs_path vanilla.pretrain.dev.predictions

What does a model answer before finetuning, how certain is it, where does it look, and what can one
layer of its attention do?

    python src/run.py cloze vanilla wiki.txt --reading_params_path vanilla.pretrain.params
    python src/run.py calibration vanilla wiki.txt \\
        --reading_params_path vanilla.finetune.params \\
        --outputs_path vanilla.calibration.svg
    python src/run.py inspect vanilla wiki.txt \\
        --reading_params_path vanilla.finetune.params \\
        --second_variant synthesizer \\
        --second_params_path synthesizer.finetune.params \\
        --outputs_path inspect.html
    python src/run.py recall vanilla

Experiments on your own model, each after a prediction (src/experiments/ explains them). If you have
no model yet, use the staff's, which knows other people than yours:

    python src/run.py trace vanilla wiki.txt --reading_params_path vanilla.finetune.params \\
        --predict "..."
    python src/run.py trace vanilla --model staff --predict "..."
    python src/run.py ablate, reverse, overwrite: the same way
    python src/run.py induction vanilla --predict "..."
    python src/run.py wordings vanilla wiki.txt --predict "..."

What is left of the difference between two variants after equally many steps?

    python src/run.py compare vanilla wiki.txt --second_variant synthesizer --predict "..."

Your trainings use a seed of your own: the first training draws it and writes it to
training_seed.txt next to the parameters, and later ones use it. The same seed on the same computer
gives the same parameters (in float32 on a GPU only nearly the same, because a GPU adds in no fixed
order); --seed sets a different one.

To run another variant, replace `vanilla` with its name. Data files are searched for in the current
folder, then in src/data/. Exit codes: 0 done, 1 an error in your code, 2 usage or bad
input, 130 interrupted.
"""

import environment

if __name__ == "__main__":
    environment.check("torch", "numpy", "tqdm", "jinja2", "matplotlib", "rich")
    environment.find_submission()

import argparse
import contextlib
import inspect
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path

import torch

from experiments import calibration, commands, gaps, inspection, recall
from inputs import (
    STAFF,
    Setting,
    build_model,
    check_readable,
    check_writable,
    choose_device,
    choose_recipe,
    find_data,
    load,
    predict,
    read_answered,
    read_corpus,
    staffs_recipe,
)
from pretraining import InputError, files, plots, recipes, returned
from pretraining.optimizers import FORMATS
from pretraining.parameter_files import save_tensors
from pretraining.progress import Writer
from submission import helper, utils
from submission.model import GPT, GPTConfig
from submission.trainer import Trainer

INPUTS = (
    "pretrain_corpus_path",
    "reading_params_path",
    "second_params_path",
    "finetune_corpus_path",
    "eval_corpus_path",
)
FAR_BELOW = 0.8  # times the lowest usual accuracy
SHOWN = 5  # predictions of each kind that evaluate shows


def parse_arguments(arguments: list[str] | None, variants: list[str]) -> argparse.Namespace:
    """Read the command line; usage errors exit with code 2."""
    parser = environment.parser(__doc__)
    parser.add_argument("function", choices=list(COMMANDS))
    parser.add_argument("variant", choices=variants)
    parser.add_argument(
        "pretrain_corpus_path",
        nargs="?",
        help="the text that defines the vocabulary (not needed for recall)",
    )
    parser.add_argument("--reading_params_path", help="parameters to start from, or to examine")
    parser.add_argument("--writing_params_path", help="where to write the trained parameters")
    parser.add_argument("--finetune_corpus_path", help="questions and places to train on")
    parser.add_argument("--eval_corpus_path", help="questions, with or without places")
    parser.add_argument("--outputs_path", help="where to write places, a picture or a page")
    parser.add_argument(
        "--question", help="question to inspect (default: the first of birth_dev.tsv)"
    )
    parser.add_argument(
        "--second_variant", choices=variants, help="variant to inspect or compare with the first"
    )
    parser.add_argument("--second_params_path", help="parameters of the second variant")
    parser.add_argument(
        "--model", default="own", choices=["own", "staff"], help="whose model to examine"
    )
    parser.add_argument("--predict", help="what you expect of an experiment, in a sentence")
    parser.add_argument("--digits", default="repeated", choices=recall.DIGITS, help="of induction")
    parser.add_argument("--recipe", help="settings of model and training (default: the data's)")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda", "mps"])
    parser.add_argument(
        "--seed",
        type=int,
        help="seed of all random numbers (default: 0; for trainings, the one in training_seed.txt "
        "next to the parameters, which the first training draws)",
    )
    parser.add_argument(
        "--dtype", choices=list(FORMATS), help="number format (default: what is fastest here)"
    )
    parser.add_argument(
        "--threads", type=int, help="number of threads (default: what is fastest here)"
    )
    unfinished = parser.add_mutually_exclusive_group()
    unfinished.add_argument("--resume", action="store_true", help="resume an interrupted training")
    unfinished.add_argument(
        "--restart", action="store_true", help="start an interrupted training over"
    )
    parser.add_argument("--log_dir", help="where to write TensorBoard's files")
    parser.set_defaults(unseen_corpus_path="birth_unseen_inputs.tsv")
    args = parser.parse_args(arguments)
    if args.model == "staff":
        take_staffs(parser, args)
    command = COMMANDS[args.function]
    if args.pretrain_corpus_path is None and command.has_corpus:
        parser.error(f"{args.function} needs pretrain_corpus_path, such as wiki.txt")
    for name in command.needs:
        if getattr(args, name) is None:
            parser.error(f"{args.function} needs --{name}")
    if args.function == "compare" and args.second_variant == args.variant:
        parser.error(f"compare needs another --second_variant, got {args.variant} twice")
    if args.function != "compare" and (
        (args.second_variant is None) != (args.second_params_path is None)
    ):
        parser.error("--second_variant and --second_params_path go together, got only one of them")
    return args


def take_staffs(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Let a command examine the staff's model, and ask it about the people of its own world."""
    stage = COMMANDS[args.function].staff
    if not stage or args.variant != "vanilla":
        known = ", ".join(name for name, command in COMMANDS.items() if command.staff)
        got = f"{args.function} {args.variant}"
        parser.error(f"--model staff is of the variant vanilla, for {known}; got {got}")
    if args.reading_params_path is not None:
        parser.error("--model staff and --reading_params_path exclude each other")
    args.pretrain_corpus_path = str(STAFF / "wiki.txt")
    args.reading_params_path = str(STAFF / f"vanilla.{stage}.params")
    args.finetune_corpus_path = str(STAFF / "birth_places_train.tsv")
    args.eval_corpus_path = str(STAFF / "birth_dev.tsv")
    args.unseen_corpus_path = str(STAFF / args.unseen_corpus_path)


def extras(args: argparse.Namespace, function: Callable, recipe: recipes.Recipe) -> dict:
    """Return the keywords `recipe` and `writer` if the function takes them; older ones may not."""
    known = inspect.signature(function).parameters
    writer: Writer | None = None
    if args.log_dir is not None:
        from torch.utils.tensorboard import SummaryWriter  # this takes seconds

        writer = SummaryWriter(args.log_dir)
    given = {"recipe": recipe.name, "writer": writer}
    return {name: value for name, value in given.items() if name in known}


def train(setting: Setting, trainer_obj: Trainer) -> None:
    """Train, write the parameters and the curve, and print how long it took."""
    args, recipe, config = setting.args, setting.recipe, trainer_obj.config
    path = args.writing_params_path
    config.dtype, config.threads, config.resume = args.dtype, args.threads, args.resume
    config.checkpoint_path = checkpoint_of(path)
    if args.function == "pretrain":
        config.expected_loss = recipe.expected_loss
    if args.restart:
        Path(config.checkpoint_path).unlink(missing_ok=True)
    if args.seed_path is not None and not args.seed_path.exists():
        files.write_atomically(args.seed_path, f"{args.seed}\n")
    started = time.monotonic()
    helper.train(setting.model, path, trainer_obj)
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    print(f"Trained for {minutes} min {seconds} s; wrote {path}.")
    Path(config.checkpoint_path).unlink(missing_ok=True)
    history = getattr(trainer_obj, "history", [])
    if history:
        picture = Path(path).with_suffix(".svg")
        title = f"{args.function} {args.variant}, {recipe.name}, seed {args.seed}"
        files.write_atomically(picture, plots.draw_loss(history, title))
        print(f"The loss went from {history[0]:.2f} to {history[-1]:.2f}: see {picture}.")
    if config.writer is not None:
        config.writer.close()


def check_unfinished(args: argparse.Namespace) -> None:
    """Raise an InputError if a training was interrupted, unless an option says what to do."""
    checkpoint = checkpoint_of(args.writing_params_path)
    if Path(checkpoint).is_file() and not (args.resume or args.restart):
        raise InputError(
            f"{checkpoint} is from an interrupted training: add --resume to resume it, or "
            "--restart to start over"
        )


def choose_seed(args: argparse.Namespace) -> str:
    """Set the seed if no option did, and the file to keep it in; return it in words."""
    args.seed_path = None
    if args.seed is None and args.writing_params_path is not None:
        args.seed, args.seed_path = files.seed_beside(args.writing_params_path)
        return f"{args.seed} (kept in {args.seed_path}; --seed sets a different one)"
    args.seed = args.seed or 0
    return str(args.seed)


def checkpoint_of(writing_params_path: str) -> str:
    """Return where a training that will write these parameters keeps its checkpoint."""
    return f"{writing_params_path}.checkpoint"


def run_pretrain(setting: Setting) -> None:
    """Pretrain on the corpus."""
    if setting.args.reading_params_path is not None:
        load(setting.model, setting.args.reading_params_path)
    extra = extras(setting.args, helper.pretrain, setting.recipe)
    prepared = helper.pretrain(setting.dataset, setting.dataset.block_size, setting.model, **extra)
    train(setting, returned.trainer(helper.pretrain, prepared))


def run_finetune(setting: Setting) -> None:
    """Finetune, from pretrained parameters if there are any."""
    corpus, dataset = read_answered(setting.args.finetune_corpus_path)[0], setting.dataset
    extra = extras(setting.args, helper.finetune, setting.recipe)
    with tempfile.TemporaryDirectory() as folder:
        params = fitting_file(setting.args.reading_params_path, setting.model, folder)
        try:
            prepared = helper.finetune(
                params, str(corpus), dataset, dataset.block_size, setting.model, **extra
            )
        except InputError as error:
            raise InputError(f"{corpus}: {error}") from None
    train(setting, returned.trainer(helper.finetune, prepared))


def fitting_file(path: str | None, model: GPT, folder: str) -> str | None:
    """Return a file whose names are the model's, since students' code reads it: `path` or a copy.

    Raises:
        InputError: the parameters do not fit the model.
    """
    if path is None:
        return None
    fitted = utils.load_parameters(path, model)
    if torch.load(path, map_location="cpu", weights_only=True).keys() == fitted.keys():
        return path
    copy = str(Path(folder) / Path(path).name)
    save_tensors(fitted, copy)
    return copy


def run_evaluate(setting: Setting) -> None:
    """Predict places, write them, and score them where there are answers."""
    args, corpus = setting.args, find_data(setting.args.eval_corpus_path)
    questions, places = utils.read_places(corpus)
    load(setting.model, args.reading_params_path)
    predictions = predict(setting.model, setting.dataset, corpus, questions)
    # One line each: a poorly trained model may also write newlines.
    predicted = [" ".join(prediction.place.split("\n")) for prediction in predictions]
    files.write_atomically(args.outputs_path, "".join(f"{place}\n" for place in predicted))
    show_predictions(questions, places, predictions)
    total, correct = utils.evaluate_places(corpus, predicted)
    if total > 0:
        print(f"Correct: {correct} of {total}, {100 * correct / total:.1f} percent")
        print(hint_if_low(args, setting.recipe, correct / total), end="")
    print(f"Wrote {len(predicted)} predictions to {args.outputs_path}.")


def hint_if_low(args: argparse.Namespace, recipe: recipes.Recipe, accuracy: float) -> str:
    """Return a hint if a pretrained and finetuned model answers far less than is usual, or ""."""
    usual = recipe.usual.get(args.variant)
    is_pretrained = Path(args.reading_params_path).name == f"{args.variant}.finetune.params"
    if usual is None or not is_pretrained or accuracy >= FAR_BELOW * usual["lowest"]:
        return ""
    return (
        f"Hint: with the recipe {recipe.name}, {args.variant} usually gets {usual['lowest']:.0%} "
        f"to {usual['highest']:.0%} of dev right ({usual['runs']} trainings). Far less is most "
        "often due to documents that are corrupted wrongly, to pretraining that was cut short or "
        "used older code, or to finetuning that didn't start from the pretrained parameters.\n"
    )


def show_predictions(
    questions: list[str], places: list[str] | None, predictions: list[utils.Prediction]
) -> None:
    """Print the first few right and wrong answers, with the model's probabilities."""
    groups: dict[str, list[str]] = {"Right": [], "Wrong": []} if places else {"Predictions": []}
    for question, one, place in zip(questions, predictions, places or repeat(""), strict=False):
        title = "Predictions" if not places else "Right" if one.place == place else "Wrong"
        answer = f" (answer: {place})" if title == "Wrong" else ""
        groups[title].append(f"  {one.probability:4.0%}  {question} {one.place!r}{answer}")
    for title, lines in groups.items():
        shown = lines[:SHOWN]
        print(
            f"{title} ({len(shown)} of {len(lines)}, with the model's probability):",
            *shown,
            sep="\n",
        )


def run(args: argparse.Namespace) -> None:
    """Run the command that the arguments describe."""
    inputs = list(filter(None, (getattr(args, name) for name in INPUTS)))
    for path in filter(None, (args.writing_params_path, args.outputs_path)):
        check_writable(path, inputs)
    with contextlib.ExitStack() as stack:
        if args.function in TRAININGS:
            stack.enter_context(files.only_training(args.writing_params_path))
            check_unfinished(args)
        for path in filter(None, (args.reading_params_path, args.second_params_path)):
            check_readable(path)
        recipe = choose_recipe(args.recipe) if args.model == "own" else staffs_recipe()
        device = choose_device(args.device)
        seed_in_words = choose_seed(args)
        utils.set_seed(args.seed)
        command = COMMANDS[args.function]
        dataset = model = None
        if command.has_corpus:
            fields = recipe.model_of(args.variant)
            dataset = read_corpus(args.pretrain_corpus_path, fields["block_size"])
            config = GPTConfig(dataset.vocab_size, **fields)
            model = build_model(args.variant, config, device)
            print(
                f"{args.function} {args.variant}: recipe {recipe.name}, {len(dataset)} documents, "
                f"{dataset.vocab_size} characters, {sum(p.numel() for p in model.parameters()):,} "
                f"parameters, device {device}"
                + (f", seed {seed_in_words}" if args.function in TRAININGS else "")
            )
        command.run(Setting(args, recipe, device, dataset, model))


@dataclass(frozen=True)
class Command:
    """A command of run.py."""

    run: Callable[[Setting], None]
    needs: tuple[str, ...] = ()  # the options that it requires
    has_corpus: bool = True  # whether it needs a corpus, and a model for it
    staff: str = ""  # the stage of the staff's model that it can examine: "pretrain" or "finetune"


PARAMS, OUTPUTS = "reading_params_path", "outputs_path"
experiment = partial(Command, commands.run_experiment)
COMMANDS = {
    "pretrain": Command(run_pretrain, ("writing_params_path",)),
    "finetune": Command(run_finetune, ("writing_params_path", "finetune_corpus_path")),
    "evaluate": Command(run_evaluate, (PARAMS, "eval_corpus_path", OUTPUTS)),
    "cloze": Command(gaps.run_cloze, (PARAMS,), staff="pretrain"),
    "calibration": Command(calibration.run, (PARAMS, OUTPUTS), staff="finetune"),
    "inspect": Command(inspection.run, (PARAMS, OUTPUTS), staff="finetune"),
    "recall": Command(recall.run_recall, has_corpus=False),
    "trace": experiment((PARAMS,), staff="finetune"),
    "ablate": experiment((PARAMS,), staff="finetune"),
    "induction": experiment(has_corpus=False),
    "reverse": experiment((PARAMS,), staff="pretrain"),
    "overwrite": experiment((PARAMS,), staff="finetune"),
    "wordings": experiment(),
    "compare": experiment(("second_variant",)),
}
TRAININGS = ("pretrain", "finetune")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    try:
        variants = recipes.variants()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    args = parse_arguments(arguments, variants)
    try:
        return environment.report_errors(lambda: run(args))
    except KeyboardInterrupt:
        print(f"\nInterrupted: {what_was_kept(args.writing_params_path)}", file=sys.stderr)
        return 130


def what_was_kept(path: str | None) -> str:
    """Describe what Ctrl-C left on disk of the file that the command would have written."""
    if path is None:
        return "nothing was written."
    checkpoint = checkpoint_of(path)
    older = f"{path} keeps its older contents" if Path(path).is_file() else f"there is no {path}"
    is_begun = Path(checkpoint).is_file()
    return f"{older}; resume from {checkpoint} with --resume." if is_begun else f"{older}."


if __name__ == "__main__":
    sys.exit(main())
