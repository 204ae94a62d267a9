"""Calls helper.py for models and for prepared trainings."""

from __future__ import annotations

from typing import Any

from grading.cases import GradedTestCase
from grading.recipes import expected_settings
from grading.schema import AnyOf

from . import random_inputs, specs, trained_files

HELPER = "submission/helper.py"
PAIRS = [("Ada Byron", "London"), ("Marie Curie", "Warsaw"), ("Frida Kahlo", "Coyoacan")]


class HelperCase(GradedTestCase):
    """Calls helper.py for models and for prepared trainings."""

    def _ask(self, probe: str, answer: Any, variant: str, **asked: Any) -> dict[str, Any]:
        """Run a probe that builds a variant's model; fail if a function returns the wrong thing."""
        either = AnyOf((specs.WRONG_RETURN, answer))
        got = self.probe(probe, either, variant=variant, **asked)
        wrong = got.get("wrong_return", "")[:500]
        sentence, detail = wrong, {}
        if self.spec.is_hidden:
            sentence = (
                f"initialize_{variant}_model in {HELPER}, or a function that its model calls, "
                "returns the wrong thing"
            )
            detail = {"got": wrong}
        self.expect("wrong_return" not in got, sentence, id="wrong-return", **detail)
        return got

    def expect_attention(self, variant: str, wanted: str) -> dict[str, Any]:
        """Fail unless every block of the helper's model has the wanted class of attention.

        Returns:
            what the model is made of; see the probe.
        """
        config = random_inputs.attention_config(12, 3, 10)
        got = self._ask("shared.model_variant", specs.VARIANT, variant, config=config)
        self.expect(
            got["attentions"] == [wanted] * config["n_layer"],
            f"the {variant} model uses the wrong attention class",
            id=f"{variant}-model.attention",
            got=", ".join(sorted(set(got["attentions"]))) or "a model with no blocks",
            expected=f"{wanted} in each of {config['n_layer']} blocks",
            look_at=f"initialize_{variant}_model in {HELPER}",
        )
        return got

    def model_logits(self, variant: str) -> dict[str, Any]:
        """Return the submission's logits for random weights and ids, to compare."""
        config = random_inputs.attention_config(24, 4, 16)
        shape = self._ask("shared.model_variant", specs.VARIANT, variant, config=config)
        trained_files.refuse_large(shape["shapes"])
        weights = random_inputs.model_weights(self.rng, shape["names"], shape["shapes"])
        ids = self.rng.integers(0, config["vocab_size"], size=(3, 15))
        asked: dict[str, Any] = {
            "variant": variant,
            "config": config,
            "weights": weights,
            "ids": ids,
        }
        return {"asked": asked, "got": self._ask("shared.model_logits", specs.LOGITS, **asked)}

    def pretraining(self, variant: str) -> dict[str, Any]:
        """Return what helper.pretrain prepares."""
        return self._ask(
            "training.pretraining",
            specs.DESCRIBED,
            variant,
            corpus=_corpus(),
            config=_training_config(),
            recipe=self.lab.data.recipe,
        )

    def finetuning(self, variant: str, pretrained: bool) -> dict[str, Any]:
        """Return what helper.finetune prepares."""
        return self._ask(
            "training.finetuning",
            specs.DESCRIBED,
            variant,
            corpus=_corpus(),
            pairs="".join(f"Where was {name} born?\t{place}\n" for name, place in PAIRS),
            config=_training_config(),
            recipe=self.lab.data.recipe,
            pretrained=pretrained,
        )

    def expect_training(self, got: dict[str, Any], stage: str, variant: str = "vanilla") -> None:
        """Fail unless a prepared training has the right data, model and settings."""
        function = "pretrain" if stage == "pretrain" else "finetune"
        look_at = f"{function} in {HELPER}"
        wanted, examples = (
            "CharCorruptionDataset",
            len(random_inputs.FRIENDLY_DOCUMENTS) + len(PAIRS),
        )
        if stage != "pretrain":
            wanted, examples = "NameDataset", len(PAIRS)
        self.expect(
            got["returned"] == "TrainerConfig, Trainer",
            f"{function} should return (tconf, trainer_obj)",
            id=f"{function}.return",
            got=got["returned"],
            expected="TrainerConfig, Trainer",
            look_at=look_at,
        )
        self.expect(
            got["dataset"] == wanted and got["examples"] == examples,
            "the Trainer was given the wrong dataset",
            id="trainer.dataset",
            got=f"{got['dataset']} with {max(got['examples'], 0)} examples",
            expected=f"{wanted} with {examples}",
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
        self._expect_start(got["changed"], stage, look_at)
        self._expect_settings(got["fields"], stage, variant, look_at)

    def _expect_start(self, changed: Any, stage: str, look_at: str) -> None:
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

    def _expect_settings(
        self, fields: dict[str, Any], stage: str, variant: str, look_at: str
    ) -> None:
        documents = len(random_inputs.FRIENDLY_DOCUMENTS) + len(PAIRS)
        config = _training_config()
        selected = self.lab.data.recipe
        problems = {}
        for recipe in (selected, "original"):
            table = self.lab.assignment.recipes.of(variant, recipe)
            wanted = expected_settings(table, stage, documents, config["block_size"])
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


def _corpus() -> str:
    """Make friendly documents that also contain every character of the questions."""
    return "\n".join(
        random_inputs.FRIENDLY_DOCUMENTS
        + [f"Where was {name} born? {place}" for name, place in PAIRS]
    )


def _training_config() -> dict[str, Any]:
    config = random_inputs.attention_config(8, 2, 64)
    return {
        k: v for k, v in config.items() if k != "vocab_size"
    }  # the probe's corpus determines it


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(_same, got, wanted))
    number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    if number and isinstance(got, int | float) and not isinstance(got, bool):
        return abs(got - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return type(got) is type(wanted) and got == wanted
