"""Finetuning without pretraining, and pretraining: setups, predictions, parameters."""

from typing import Any

from grading.cases import graded
from grading.edition import FIELDS, Assignment
from grading.wire import AnyOf, Maybe
from questions.shared.models import (
    HELPER,
    HelperCase,
    OutputsCase,
    VariantCase,
    attention_config,
)
from questions.span_corruption.items import FRIENDLY_DOCUMENTS

PAIRS = [("Ada Byron", "London"), ("Marie Curie", "Warsaw"), ("Frida Kahlo", "Coyoacan")]
# Friendly documents that also contain every character of the questions.
DOCUMENTS = FRIENDLY_DOCUMENTS + [f"Where was {name} born? {place}" for name, place in PAIRS]
CONFIG = attention_config(8, 2, 64)
del CONFIG["vocab_size"]  # the probe's corpus determines it
SIMPLE = Maybe(AnyOf((bool, int, float, str)))
PLAIN = AnyOf((SIMPLE, [SIMPLE]))
DESCRIBED = {
    "returned": str,
    "fields": {name: PLAIN for name in FIELDS},
    "dataset": str,
    "examples": int,
    "same_vocabulary": bool,
    "trains_given_model": bool,
    "same_config": bool,
    "changed": Maybe(str),
}


class TrainingCase(HelperCase):
    """Asks helper.py for prepared trainings."""

    def prepared(self, stage: str, variant: str = "vanilla") -> dict[str, Any]:
        """Return the training that helper.pretrain or helper.finetune prepares for a stage."""
        return self._ask(
            "training.prepared",
            DESCRIBED,
            variant,
            stage=stage,
            corpus="\n".join(DOCUMENTS),
            pairs="".join(f"Where was {name} born?\t{place}\n" for name, place in PAIRS),
            config=CONFIG,
            recipe=self.run.data.recipe,
        )

    def expect_training(self, got: dict[str, Any], stage: str, variant: str = "vanilla") -> None:
        """Fail unless a prepared training has the right data, model and settings."""
        function = "pretrain" if stage == "pretrain" else "finetune"
        look_at = f"{function} in {HELPER}"
        dataset, examples = "NameDataset", len(PAIRS)
        if stage == "pretrain":
            dataset, examples = "CharCorruptionDataset", len(DOCUMENTS)
        self.expect(
            got["returned"] == "TrainerConfig, Trainer",
            f"{function} should return (tconf, trainer_obj)",
            id=f"{function}.return",
            got=got["returned"],
            expected="TrainerConfig, Trainer",
            look_at=look_at,
        )
        self.expect(
            (got["dataset"], got["examples"]) == (dataset, examples),
            "the Trainer was given the wrong dataset",
            id="trainer.dataset",
            got=f"{got['dataset']} with {got['examples']} examples",
            expected=f"{dataset} with {examples}",
            look_at=look_at,
        )
        self.expect(
            got["same_vocabulary"],
            "the dataset's vocabulary differs from that of the pretraining dataset",
            id="trainer.vocabulary",
            cause="NameDataset needs pretrain_dataset, because it uses the same vocabulary",
            look_at=look_at,
        )
        self.expect(
            got["trains_given_model"] and got["same_config"],
            "the Trainer should train the model that the function is given, with tconf",
            id="trainer.model",
            look_at=look_at,
        )
        changed = got["changed"]
        if stage == "finetune_pretrained":
            self.expect(
                changed == "",
                "finetuning doesn't start from the parameters in reading_params_path",
                id="finetune.not-from-file",
                got=f"{changed} differs",
                expected="all parameters of the model to be as in the file",
                look_at=look_at,
            )
        elif stage == "finetune_scratch":
            self.expect(
                changed == "",
                "without reading_params_path, finetuning should start from the model as it is",
                id="finetune.not-from-given-model",
                got=f"{changed} was changed",
                look_at=look_at,
            )
        self._expect_settings(got["fields"], stage, variant, look_at)

    def _expect_settings(
        self, fields: dict[str, Any], stage: str, variant: str, look_at: str
    ) -> None:
        selected, shape = self.run.data.recipe, (len(DOCUMENTS), CONFIG["block_size"])
        problems = {}
        for recipe in (selected, "original"):
            wanted = expected_settings(self.run.assignment, recipe, stage, variant, *shape)
            problems[recipe] = [
                f"{key} = {fields.get(key)}, not {value}"
                for key, value in wanted.items()
                if not _same(fields.get(key), value)
            ]
            if not problems[recipe]:
                return
        self.fail(
            f"the settings are neither those of recipe {selected!r} nor of 'original' ({stage})",
            id="trainer.settings",
            got="; ".join(problems[selected]) + f" (against {selected!r})",
            look_at=look_at,
        )


def expected_settings(
    assignment: Assignment, recipe: str, stage: str, variant: str, documents: int, block_size: int
) -> dict[str, Any]:
    """Return the fields that a TrainerConfig should have for one stage of a recipe.

    Args:
        documents: number of documents in the pretraining corpus, which final_epochs counts.
        block_size: number of entries of an example.
    """
    fields = assignment.settings(recipe, stage, variant)
    if "final_epochs" in fields:
        fields["final_tokens"] = fields.pop("final_epochs") * documents * block_size
    return fields


class Finetuning(TrainingCase):
    topic = "finetuning"

    @graded()
    def test_vanilla_model(self) -> None:
        """initialize_vanilla_model returns a GPT with CausalSelfAttention."""
        self.expect_attention("vanilla", "attention.CausalSelfAttention")

    @graded()
    def test_configuration(self) -> None:
        """finetune without pretraining prepares a NameDataset, a Trainer, the recipe's settings."""
        self.expect_training(self.prepared("finetune_scratch"), "finetune_scratch")

    @graded(is_hidden=True)
    def test_model_output(self) -> None:
        """The vanilla model computes the same as the given GPT."""
        self.judge(**self.model_logits("vanilla"))


class NoPretraining(OutputsCase):
    topic = "no_pretraining"
    of_files = ("dev_predictions", "test_predictions", "remembers_training", "matches_checkpoint")

    @graded()
    def test_dev_predictions(self) -> None:
        """vanilla.nopretrain.dev.predictions has a place for each question of birth_dev.tsv."""
        self.predictions("vanilla.nopretrain.dev.predictions", "dev")

    @graded()
    def test_test_predictions(self) -> None:
        """vanilla.nopretrain.test.predictions has a place for each question of the test set."""
        self.predictions("vanilla.nopretrain.test.predictions", "test")

    @graded()
    def test_london_baseline(self) -> None:
        """london_baseline counts how often "London" is right."""
        places = ["London", "Paris", "London", "Rome", "New London"]
        got = self.london_baseline(places)
        self.expect(
            got == [2, 5],
            "london_baseline returns wrong numbers",
            id="london-baseline.counts",
            got="None (is its `return` missing?)" if got is None else got,
            expected="[2, 5] (right answers, questions) for the places " + ", ".join(places),
            cause="the number of right answers comes first" if got == [5, 2] else "",
            look_at="submission/london_baseline.py",
        )

    @graded(is_hidden=True)
    def test_london_anywhere(self) -> None:
        """london_baseline is right on other files, too."""
        others = ["London Colney", "Londonderry", "london", "Łódź", "São Paulo", "Oslo"]
        places = [str(p) for p in self.rng.choice(["London", *others], size=40)]
        self.judge(got=self.london_baseline(places), places=places)

    @graded(is_hidden=True)
    def test_remembers_training(self) -> None:
        """vanilla.model.params answers the questions it was finetuned on."""
        pairs = self.run.data.train_pairs()
        chosen = self.rng.choice(len(pairs), size=min(50, len(pairs)), replace=False)
        questions = [pairs[i][0] for i in chosen]
        given = self.model_answers("vanilla.model.params", "vanilla", questions)
        self.judge(given=given, places=[pairs[i][1] for i in chosen])

    @graded(is_hidden=True)
    def test_matches_checkpoint(self) -> None:
        """The predictions are the answers of vanilla.model.params."""
        self.judge(**self.regenerated("vanilla.model.params", "vanilla.nopretrain"))

    def london_baseline(self, places: list[str]) -> Any:
        """Return what london_baseline returns for a table with these places."""
        answer = {"returned": PLAIN}
        return self.probe("training.london", answer, places=places)["returned"]


class Pretraining(TrainingCase, VariantCase):
    topic = "pretraining"
    variant = "vanilla"

    @graded()
    def test_pretrain_configuration(self) -> None:
        """pretrain prepares a Trainer on the corrupted corpus with the recipe's settings."""
        self.expect_training(self.prepared("pretrain"), "pretrain")

    @graded()
    def test_finetune_configuration(self) -> None:
        """finetune starts from the pretrained parameters, with the recipe's settings."""
        self.expect_training(self.prepared("finetune_pretrained"), "finetune_pretrained")

    @graded(is_hidden=True)
    def test_loads_pretrained(self) -> None:
        """Both variants start from the pretrained parameters, if and only if they are passed."""
        variants = ("vanilla", "synthesizer")
        asked = [(v, f"finetune_{s}") for v in variants for s in ("pretrained", "scratch")]
        asked += [(variant, "pretrain") for variant in variants]
        self.judge(runs=[(v, stage, self.prepared(stage, v)) for v, stage in asked])


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(_same, got, wanted))
    number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if number and isinstance(got, int | float) and not isinstance(got, bool):
        return abs(got - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return type(got) is type(wanted) and got == wanted
