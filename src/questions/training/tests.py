"""Finetuning without pretraining, and pretraining: setups, predictions, parameters."""

from __future__ import annotations

from grading.cases import graded
from questions.shared.outputs import OutputsCase
from questions.shared.setups import HelperCase


class Finetuning(HelperCase):
    topic = "finetuning"

    @graded()
    def test_vanilla_model(self) -> None:
        """initialize_vanilla_model returns a GPT with CausalSelfAttention."""
        self.expect_attention("vanilla", "attention.CausalSelfAttention")

    @graded()
    def test_configuration(self) -> None:
        """finetune without pretraining prepares a NameDataset, a Trainer, the recipe's settings."""
        self.expect_training(self.finetuning("vanilla", pretrained=False), "finetune_scratch")

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
        exchanged = {"cause": "the number of right answers comes first"} if got == [5, 2] else {}
        self.expect(
            got == [2, 5],
            "london_baseline returns wrong numbers",
            id="london-baseline.counts",
            got="None (is its `return` missing?)" if got is None else got,
            expected="[2, 5] (right answers, questions) for the places " + ", ".join(places),
            **exchanged,
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
        pairs = self.lab.data.train_pairs()
        chosen = self.rng.choice(len(pairs), size=min(50, len(pairs)), replace=False)
        questions = [pairs[i][0] for i in chosen]
        given = self.model_answers("vanilla.model.params", "vanilla", questions)
        self.judge(given=given, places=[pairs[i][1] for i in chosen])

    @graded(is_hidden=True)
    def test_matches_checkpoint(self) -> None:
        """The predictions are the answers of vanilla.model.params."""
        self.judge(**self.regenerated("vanilla.model.params", "vanilla.nopretrain"))


class Pretraining(HelperCase, OutputsCase):
    topic = "pretraining"
    of_files = ("dev_accuracy", "test_accuracy", "matches_checkpoint")

    @graded()
    def test_pretrain_configuration(self) -> None:
        """pretrain prepares a Trainer on the corrupted corpus with the recipe's settings."""
        self.expect_training(self.pretraining("vanilla"), "pretrain")

    @graded()
    def test_finetune_configuration(self) -> None:
        """finetune starts from the pretrained parameters, with the recipe's settings."""
        self.expect_training(self.finetuning("vanilla", pretrained=True), "finetune_pretrained")

    @graded()
    def test_dev_accuracy(self) -> None:
        """vanilla.pretrain.dev.predictions reaches the threshold."""
        self.expect_accuracy("vanilla.pretrain.dev.predictions", "vanilla")

    @graded(is_hidden=True)
    def test_loads_pretrained(self) -> None:
        """Both variants start from the pretrained parameters, if and only if they are passed."""
        variants = ("vanilla", "synthesizer")
        runs = [
            (variant, pretrained, self.finetuning(variant, pretrained))
            for variant in variants
            for pretrained in (True, False)
        ]
        self.judge(runs=runs, pretrainings=[(v, self.pretraining(v)) for v in variants])

    @graded(is_hidden=True)
    def test_test_accuracy(self) -> None:
        """vanilla.pretrain.test.predictions reaches the threshold."""
        self.judge(**self.test_split("vanilla.pretrain.test.predictions", "vanilla"))

    @graded(is_hidden=True)
    def test_matches_checkpoint(self) -> None:
        """The predictions are the answers of vanilla.finetune.params."""
        self.judge(**self.regenerated("vanilla.finetune.params", "vanilla.pretrain"))
