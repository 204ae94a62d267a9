"""The commands of the problem sheet, word for word, and the files that each reads and writes."""

from dataclasses import dataclass

CORPUS = "wiki.txt"
TRAIN = "birth_places_train.tsv"
EVALUATED = {"dev": "birth_dev.tsv", "test": "birth_test_inputs.tsv"}


@dataclass(frozen=True)
class Command:
    """One `python src/run.py ...` of the sheet.

    Attributes:
        arguments: what follows `python`.
        writes: the file that it leaves.
        reads: the file of parameters that it needs, or None.
    """

    arguments: tuple[str, ...]
    writes: str
    reads: str | None = None

    def __str__(self) -> str:
        return " ".join(("python", *self.arguments))


def pretrain(variant: str) -> Command:
    """Pretrain on the corpus."""
    path = f"{variant}.pretrain.params"
    return Command(_run("pretrain", variant, writing_params_path=path), path)


def finetune(variant: str, pretrained: bool) -> Command:
    """Finetune on the table of names, from pretrained parameters or from scratch."""
    path = f"{variant}.finetune.params" if pretrained else f"{variant}.model.params"
    reads = f"{variant}.pretrain.params" if pretrained else None
    options = {"reading_params_path": reads} if reads else {}
    options |= {"writing_params_path": path, "finetune_corpus_path": TRAIN}
    return Command(_run("finetune", variant, **options), path, reads)


def evaluate(variant: str, pretrained: bool, split: str) -> Command:
    """Predict the places of "dev" or "test"."""
    reads = finetune(variant, pretrained).writes
    kind = "pretrain" if pretrained else "nopretrain"
    path = f"{variant}.{kind}.{split}.predictions"
    options = {
        "reading_params_path": reads,
        "eval_corpus_path": EVALUATED[split],
        "outputs_path": path,
    }
    return Command(_run("evaluate", variant, **options), path, reads)


def pipeline(variant: str, pretrained: bool) -> list[Command]:
    """Everything that one question asks to run, in order."""
    first = [pretrain(variant)] if pretrained else []
    splits = [evaluate(variant, pretrained, split) for split in EVALUATED]
    return [*first, finetune(variant, pretrained), *splits]


def _run(function: str, variant: str, **options: str) -> tuple[str, ...]:
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    return ("src/run.py", function, variant, CORPUS, *words)


# Questions 1d, 1f and 1g of the default edition.
PIPELINES = {
    "vanilla without pretraining": pipeline("vanilla", pretrained=False),
    "vanilla": pipeline("vanilla", pretrained=True),
    "synthesizer": pipeline("synthesizer", pretrained=True),
}
