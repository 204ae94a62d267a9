"""The honest trainings and cheats from which the limits of evidence of pretraining were chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Bodies of __getitem__ that replace the span corruption.
TEXT_ONLY = """
        document = self.data[idx][: int(self.block_size * 7 / 8)]
        text = (document + self.MASK_CHAR).ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        return ids[:-1], ids[1:]
"""
ONE_WORD = """
        import re

        document = self.data[idx]
        kept = document[: random.randint(8, max(8, int(self.block_size * 7 / 8)))]
        word = random.choice(list(re.finditer(r"[^ ]+", kept)))
        start, stop = word.span()
        mask = self.MASK_CHAR
        text = kept[:start] + mask + kept[stop:] + mask + kept[start:stop] + mask
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        return ids[:-1], ids[1:]
"""
SHORT_SPANS = """
        document = self.data[idx]
        kept = document[: random.randint(4, min(len(document), int(self.block_size * 7 / 8)))]
        span = min(random.randint(1, 5), len(kept) // 2)
        start = random.randint(0, len(kept) - span)
        mask = self.MASK_CHAR
        text = kept[:start] + mask + kept[start + span :] + mask + kept[start : start + span] + mask
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        return ids[:-1], ids[1:]
"""


@dataclass(frozen=True)
class Case:
    """A training, and which of its results are submitted.

    Attributes:
        words: a description for the table.
        honest: whether it should pass.
        model, pretrain: changes to the recipe.
        corruption: a right variant of tests/golden/span_corruption.
        body: a body of __getitem__ that replaces the corruption.
        questions: whether it is finetuned on questions found by searching the corpus.
        of: the case whose pretrained parameters it starts from; "" starts from scratch.
        twice: whether the finetuned parameters are also submitted as the pretrained ones.
        noise: standard deviation of the noise that is added to the weights of `of`, relative to
            that of the weights.
    """

    words: str
    honest: bool
    variant: str = "vanilla"
    seed: int = 0
    world: int | None = None  # the seed of a separate world
    recipe: str = "laptop"  # or "real" with the course's files
    dtype: str = "bfloat16"  # of training; the measurement is in float32
    model: dict[str, Any] = field(default_factory=dict)
    pretrain: dict[str, Any] = field(default_factory=dict)
    corruption: str | None = None
    body: str | None = None
    questions: bool = False
    of: str | None = None
    twice: bool = False
    noise: float = 0.0


ADAMW = {
    "optimizer": "adamw",
    "schedule": "cosine",
    "learning_rate": 6e-3,
    "warmup_tokens": 10_240,
    "final_epochs": 200,
    "max_epochs": 150,
}
DROPOUT = {"embd_pdrop": 0.1, "resid_pdrop": 0.1, "attn_pdrop": 0.1}
REAL: dict[str, Any] = {"recipe": "real"}
CORRUPTIONS = (  # right variants of tests/golden/span_corruption that students wrote
    "uniform_from_one",
    "numpy_randomness",
    "padded_to_block_size",
    "no_final_mask",
    "rounded_down",
)
OTHER = 9320179070645247638  # a world's seed
CASES = {
    "reference": Case("the reference", True),
    "synthesizer": Case("the reference", True, "synthesizer"),
    "rope": Case("the reference", True, "rope"),
    "other_world": Case("another world, seed 1", True, seed=1, world=OTHER),
    "epochs_35": Case("35 epochs", True, pretrain={"max_epochs": 35}),
    "synthesizer_50": Case("50 epochs", True, "synthesizer", pretrain={"max_epochs": 50}),
    "float32": Case("the reference", True, dtype="float32"),
    **{
        name: Case(f"a student's corruption, {name.replace('_', ' ')}", True, corruption=name)
        for name in CORRUPTIONS
    },
    "short_spans": Case("spans of 1 to 5 characters", True, body=SHORT_SPANS),
    "one_word": Case("spans of one word", True, body=ONE_WORD),
    "dropout": Case("dropouts of .1", True, model=DROPOUT),
    "adamw": Case("`original`'s optimizer, 150 epochs", True, pretrain=ADAMW),
    "real": Case("the course's files, the reference", True, **REAL),
    "real_synthesizer": Case("the course's files, the reference", True, "synthesizer", **REAL),
    "real_20": Case("the course's files, 20 epochs", True, pretrain={"max_epochs": 20}, **REAL),
    "real_60": Case("the course's files, 60 epochs", True, pretrain={"max_epochs": 60}, **REAL),
    "real_synthesizer_40": Case(
        "the course's files, 40 epochs", True, "synthesizer", pretrain={"max_epochs": 40}, **REAL
    ),
    "questions_only": Case(
        "from scratch on found questions", False, questions=True, of="", twice=True
    ),
    "epochs_10": Case("10 epochs", False, pretrain={"max_epochs": 10}),
    "epochs_10_questions": Case(
        "10 epochs, then found questions", False, questions=True, of="epochs_10"
    ),
    "epochs_10_twice": Case(
        "the same, the finetuned handed in as both",
        False,
        questions=True,
        of="epochs_10",
        twice=True,
    ),
    "text_only": Case(
        "plain text, no masks, 20 epochs", False, body=TEXT_ONLY, pretrain={"max_epochs": 20}
    ),
    "text_only_60": Case(
        "plain text, no masks, 60 epochs",
        False,
        body=TEXT_ONLY,
        pretrain={"max_epochs": 60},
    ),
    "real_text_only": Case(
        "the course's files, plain text, no masks, 20 epochs",
        False,
        body=TEXT_ONLY,
        pretrain={"max_epochs": 20},
        **REAL,
    ),
    "text_only_questions": Case(
        "plain text, then found questions", False, questions=True, of="text_only"
    ),
    "noise": Case("another's with noise of a tenth", False, of="reference", noise=0.1),
    "much_noise": Case("another's with noise of a half", False, of="reference", noise=0.5),
}
