"""The commands of the problem sheet, word for word, and the files that each reads and writes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.description import load_assignment

CORPUS = "wiki.txt"
TRAIN = "birth_places_train.tsv"
PURPOSES = {
    "pretrain": "Pretrain the model",
    "finetune": "Finetune the model",
    "cloze": "Ask the pretrained model",
    "calibration": "Compare probabilities with accuracy",
    "inspect": "Look inside two models",
    "recall": "Train one layer of attention",
    "trace": "Paste one person's stream into another's question",
    "ablate": "Switch parts of the model off",
    "induction": "Train attention on recall, with one layer and with two",
    "reverse": "Ask for the place, and for the person",
    "overwrite": "Teach the model something else",
    "wordings": "Pretrain on one wording, and on four",
    "compare": "Train both variants for equally many steps",
}
# These ask for a prediction, which the reader has to write.
PREDICTED = ("trace", "ablate", "induction", "reverse", "overwrite", "wordings", "compare")
EVALUATED = {"dev": "birth_dev.tsv", "test": "birth_test_inputs.tsv"}


@dataclass(frozen=True)
class Command:
    """A `python src/run.py ...` command of the sheet.

    Attributes:
        arguments: what follows `python`.
        writes: the file that it creates; "" if it only prints.
    """

    arguments: tuple[str, ...]
    writes: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command as the sheet prints it."""
        asked = ("--predict", '"..."') if self.arguments[1] in PREDICTED else ()
        return ("python", *self.arguments, *asked)

    def __str__(self) -> str:
        return " ".join(self.words)

    @property
    def lines(self) -> list[str]:
        """The command as the sheet prints it: an option, but for --predict, begins a line."""
        return re.sub(" --(?!predict)", " \\\\\n    --", str(self)).split("\n")

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Function and variant; the files of parameters, of questions, and to write; "" if none."""
        options = dict(zip(self.arguments[4::2], self.arguments[5::2], strict=True))
        questions = options.get("--finetune_corpus_path") or options.get("--eval_corpus_path", "")
        parameters = options.get("--reading_params_path", "")
        return " ".join(self.arguments[1:3]), parameters, questions, self.writes

    @property
    def purpose(self) -> str:
        """Its purpose, in a few words."""
        function = self.arguments[1]
        if function == "evaluate":
            split = {file: name for name, file in EVALUATED.items()}.get(self.arguments[7])
            return f"Evaluate on the {split} set" if split else "Predict"
        return PURPOSES[function]


def pretrain(variant: str) -> Command:
    """Return the command that pretrains a variant on the corpus."""
    path = f"{variant}.pretrain.params"
    return _on_corpus("pretrain", variant, path, writing_params_path=path)


def finetune(variant: str, pretrained: bool) -> Command:
    """Return the command that finetunes on names, from pretrained parameters or from scratch."""
    path = f"{variant}.finetune.params" if pretrained else f"{variant}.model.params"
    options = {"reading_params_path": pretrain(variant).writes} if pretrained else {}
    options |= {"writing_params_path": path, "finetune_corpus_path": TRAIN}
    return _on_corpus("finetune", variant, path, **options)


def pipeline(variant: str, pretrained: bool) -> list[Command]:
    """Return every command that one question asks students to run, in order."""
    first = [pretrain(variant)] if pretrained else []
    kind = "pretrain" if pretrained else "nopretrain"
    predictions = [
        _predict(variant, pretrained, questions, f"{variant}.{kind}.{split}.predictions")
        for split, questions in EVALUATED.items()
    ]
    return [*first, finetune(variant, pretrained), *predictions]


def _on_corpus(function: str, variant: str, writes: str, **options: str) -> Command:
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    return Command(("src/run.py", function, variant, CORPUS, *words), writes)


def _predict(variant: str, pretrained: bool, questions: str, path: str) -> Command:
    reads = finetune(variant, pretrained).writes
    options = {"eval_corpus_path": questions, "outputs_path": path}
    return _on_corpus("evaluate", variant, path, reading_params_path=reads, **options)


def _examine(function: str, reads: str, writes: str = "", **options: str) -> Command:
    """Return a command about trained vanilla parameters."""
    return _on_corpus(function, "vanilla", writes, reading_params_path=reads, **options)


# Questions 1d, 1f and 1g of the default edition: every edition's solutions quote their results.
PIPELINES = {
    "vanilla without pretraining": pipeline("vanilla", pretrained=False),
    "vanilla": pipeline("vanilla", pretrained=True),
    "synthesizer": pipeline("synthesizer", pretrained=True),
}
PREDICT_UNSEEN = _predict("vanilla", True, "birth_unseen_inputs.tsv", "vanilla.unseen.predictions")
COMPARE = _on_corpus("compare", "vanilla", "compare.svg", second_variant="synthesizer")
PRETRAINED, FINETUNED = pretrain("vanilla").writes, finetune("vanilla", pretrained=True).writes
CALIBRATION, INSIDE = "vanilla.calibration.svg", "inspect.html"
SECOND = {"second_variant": "synthesizer", "second_params_path": "synthesizer.finetune.params"}
# The commands of the questions about trained models, by topic.
EXPERIMENTS = {
    "consider_indeterminacy": [
        _examine("calibration", FINETUNED, CALIBRATION, outputs_path=CALIBRATION)
    ],
    "consider_cloze": [_examine("cloze", PRETRAINED)],
    "consider_inside": [_examine("inspect", FINETUNED, INSIDE, **SECOND, outputs_path=INSIDE)],
    "consider_recall": [
        Command(("src/run.py", "recall", variant), "") for variant in ("vanilla", "synthesizer")
    ],
    "experiment_trace": [_examine("trace", FINETUNED, "trace.svg")],
    "induction_scores": [Command(("src/run.py", "induction", "vanilla"), "induction.svg")],
    "experiment_choice": [
        _examine("ablate", FINETUNED, "ablate.svg"),
        _examine("reverse", PRETRAINED, "reverse.svg"),
        _examine("overwrite", FINETUNED, "overwrite.svg"),
        _on_corpus("wordings", "vanilla", "wordings.svg"),
    ],
}


def pipelines_of(repo: Path, editions: Iterable[str] = ()) -> dict[str, list[Command]]:
    """Return the pipelines that editions' sheets ask for; by default, the default edition's.

    A variant that is not among PIPELINES is trained only if an edition has its question.
    """
    described = load_assignment(repo)
    names = list(editions) or [described.default_edition]
    topics = {q.topic for name in names for q in described.edition(name).questions}
    asked = [variant.name for variant in described.variants.values() if variant.topic in topics]
    return PIPELINES | {name: pipeline(name, pretrained=True) for name in asked}
