"""The commands of the problem sheet, word for word, and the files that each reads and writes."""

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
EVALUATED = {"dev": "birth_dev.tsv", "test": "birth_test_inputs.tsv"}


@dataclass(frozen=True)
class Command:
    """A `python src/run.py ...` command of the sheet.

    Attributes:
        arguments: what follows `python`.
        writes: the file that it creates; "" if it only prints.
        reads: the file of parameters that it needs, or None.
        predicts: whether it asks for a prediction, which the reader has to write.
    """

    arguments: tuple[str, ...]
    writes: str
    reads: str | None = None
    predicts: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command as the sheet prints it."""
        asked = ("--predict", '"..."') if self.predicts else ()
        return ("python", *self.arguments, *asked)

    def __str__(self) -> str:
        return " ".join(self.words)

    @property
    def lines(self) -> list[str]:
        """The command as the sheet prints it: one option per line, joined by backslashes."""
        words = self.words
        options = [i for i, word in enumerate(words) if word.startswith("--")]
        first = options[0] if options else len(words)
        rows = [" ".join(words[:first])]
        rows += [f"    {words[i]} {words[i + 1]}" for i in range(first, len(words), 2)]
        return [row + " \\" for row in rows[:-1]] + rows[-1:]

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Function and variant; the files of parameters, of questions, and to write; "" if none."""
        options = dict(zip(self.arguments[4::2], self.arguments[5::2], strict=True))
        questions = options.get("--finetune_corpus_path") or options.get("--eval_corpus_path", "")
        return " ".join(self.arguments[1:3]), self.reads or "", questions, self.writes

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
    return Command(_run("pretrain", variant, writing_params_path=path), path)


def finetune(variant: str, pretrained: bool) -> Command:
    """Return the command that finetunes on names, from pretrained parameters or from scratch."""
    path = f"{variant}.finetune.params" if pretrained else f"{variant}.model.params"
    reads = f"{variant}.pretrain.params" if pretrained else None
    options = {"reading_params_path": reads} if reads else {}
    options |= {"writing_params_path": path, "finetune_corpus_path": TRAIN}
    return Command(_run("finetune", variant, **options), path, reads)


def evaluate(variant: str, pretrained: bool, split: str) -> Command:
    """Return the command that predicts the places of "dev" or "test"."""
    reads = finetune(variant, pretrained).writes
    kind = "pretrain" if pretrained else "nopretrain"
    path = f"{variant}.{kind}.{split}.predictions"
    options = {
        "reading_params_path": reads,
        "eval_corpus_path": EVALUATED[split],
        "outputs_path": path,
    }
    return Command(_run("evaluate", variant, **options), path, reads)


def predict_unseen(variant: str) -> Command:
    """Return the command that predicts places of people who occur nowhere else."""
    reads, path = finetune(variant, pretrained=True).writes, f"{variant}.unseen.predictions"
    options = {
        "reading_params_path": reads,
        "eval_corpus_path": "birth_unseen_inputs.tsv",
        "outputs_path": path,
    }
    return Command(_run("evaluate", variant, **options), path, reads)


def cloze(variant: str) -> Command:
    """Return the command that asks a pretrained model in several wordings."""
    reads = pretrain(variant).writes
    return Command(_run("cloze", variant, reading_params_path=reads), "", reads)


def calibration(variant: str) -> Command:
    """Return the command that compares a finetuned model's probabilities with its accuracy."""
    reads, path = finetune(variant, pretrained=True).writes, f"{variant}.calibration.svg"
    options = {"reading_params_path": reads, "outputs_path": path}
    return Command(_run("calibration", variant, **options), path, reads)


def look_inside(variant: str, second: str | None = None) -> Command:
    """Return the command that writes a page on how one or two finetuned models answer."""
    reads, path = finetune(variant, pretrained=True).writes, "inspect.html"
    options = {"reading_params_path": reads}
    if second is not None:
        other = finetune(second, pretrained=True).writes
        options |= {"second_variant": second, "second_params_path": other}
    return Command(_run("inspect", variant, **options, outputs_path=path), path, reads)


def recall(variant: str) -> Command:
    """Return the command that trains one layer of attention on associative recall."""
    return Command(("src/run.py", "recall", variant), "")


def experiment(name: str, variant: str) -> Command:
    """Return the command of an experiment, which asks for a prediction."""
    if name == "induction":
        return Command(("src/run.py", name, variant), f"{name}.svg", predicts=True)
    if name == "wordings":
        return Command(_run(name, variant), f"{name}.svg", predicts=True)
    made = pretrain(variant) if name == "reverse" else finetune(variant, pretrained=True)
    arguments = _run(name, variant, reading_params_path=made.writes)
    return Command(arguments, f"{name}.svg", made.writes, predicts=True)


def compare(variant: str, second: str) -> Command:
    """Return the command that trains two variants for equally many steps."""
    return Command(_run("compare", variant, second_variant=second), "compare.svg", predicts=True)


def pipeline(variant: str, pretrained: bool) -> list[Command]:
    """Return every command that one question asks students to run, in order."""
    first = [pretrain(variant)] if pretrained else []
    splits = [evaluate(variant, pretrained, split) for split in EVALUATED]
    return [*first, finetune(variant, pretrained), *splits]


def _run(function: str, variant: str, **options: str) -> tuple[str, ...]:
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    return ("src/run.py", function, variant, CORPUS, *words)


# Questions 1d, 1f and 1g of the default edition: every edition's solutions quote their results.
PIPELINES = {
    "vanilla without pretraining": pipeline("vanilla", pretrained=False),
    "vanilla": pipeline("vanilla", pretrained=True),
    "synthesizer": pipeline("synthesizer", pretrained=True),
}


# The commands of the questions about trained models, by topic.
EXPERIMENTS = {
    "consider_indeterminacy": [calibration("vanilla")],
    "consider_cloze": [cloze("vanilla")],
    "consider_inside": [look_inside("vanilla", "synthesizer")],
    "consider_recall": [recall("vanilla"), recall("synthesizer")],
    "experiment_trace": [experiment("trace", "vanilla")],
    "induction_scores": [experiment("induction", "vanilla")],
    "experiment_choice": [
        experiment(name, "vanilla") for name in ("ablate", "reverse", "overwrite", "wordings")
    ],
}


def pipelines_of(repo: Path, editions: Iterable[str] = ()) -> dict[str, list[Command]]:
    """Return the commands of these editions' sheets, by name; without any, the default edition's.

    A variant that is not among PIPELINES is trained only if an edition has its question.

    Raises:
        UsageError: an edition doesn't exist, or assignment.toml has a mistake.
    """
    described = load_assignment(repo)
    names = list(editions) or [described.default_edition]
    topics = {q.topic for name in names for q in described.edition(name).questions}
    asked = [variant.name for variant in described.variants.values() if variant.topic in topics]
    return PIPELINES | {name: pipeline(name, pretrained=True) for name in asked}
