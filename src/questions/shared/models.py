"""A submission's models, its predictions and parameters, and what a model with these answers."""

from typing import Any

import numpy as np

from grading.cases import GradedTestCase, graded
from grading.verdicts import TestEnd, failure
from grading.wire import AnyOf, Array, Maybe, Where, table
from questions.span_corruption import items

from . import trained_files

HELPER = "submission/helper.py"
# What probes answer.
ANY_REAL = Maybe(Array("float64", None))  # None: not a tensor of real numbers, or far too large
PARAMETERS = table({"names": str, "arrays": Array("float32", None)}, problem=str)
SHAPES = table({"names": str, "shapes": [int]})
VARIANT = table({"names": str, "shapes": [int]}, attentions=[str])
WRONG_RETURN = {"wrong_return": str}  # what a function returned, in words
LOGITS = {"form": str, "logits": ANY_REAL}


def outputs(count: int) -> Where:
    """Return the spec for probes that call attention, or parts of it, `count` times."""
    return table({"forms": str, "outputs": ANY_REAL}, rows=count)


def attention_config(n_embd: int, n_head: int, block_size: int) -> dict[str, Any]:
    """Return fields of a small GPTConfig without dropout."""
    quiet = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    shape = {"n_layer": 2, "n_head": n_head, "n_embd": n_embd, "block_size": block_size}
    return {"vocab_size": 17, **shape, **quiet}


SMALL, MEDIUM = attention_config(12, 3, 10), attention_config(24, 4, 16)


def draw_weights(
    rng: np.random.Generator, names: list[str], shapes: list[list[int]]
) -> dict[str, np.ndarray]:
    """Draw parameters for a whole model, float64: matrices that preserve scale, norms near 1."""
    weights = {}
    for name, shape in zip(names, shapes, strict=True):
        scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.3
        centre = 1.0 if ".ln" in f".{name}" and name.endswith("weight") else 0.0
        weights[name] = rng.normal(centre, scale, shape)
    return weights


class HelperCase(GradedTestCase):
    """Asks helper.py for models."""

    def _ask(self, probe: str, answer: Any, variant: str, **asked: Any) -> dict[str, Any]:
        """Run a probe that builds a variant's model; fail if a function returns the wrong thing."""
        either = AnyOf((WRONG_RETURN, answer))
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
        got = self._ask("shared.model_variant", VARIANT, variant, config=SMALL)
        self.expect(
            got["attentions"] == [wanted] * SMALL["n_layer"],
            f"the {variant} model uses the wrong attention class",
            id=f"{variant}-model.attention",
            got=", ".join(sorted(set(got["attentions"]))) or "a model with no blocks",
            expected=f"{wanted} in each of {SMALL['n_layer']} blocks",
            look_at=f"initialize_{variant}_model in {HELPER}",
        )
        return got

    def model_logits(self, variant: str) -> dict[str, Any]:
        """Return the submission's logits for random weights and ids, to compare."""
        shape = self._ask("shared.model_variant", VARIANT, variant, config=MEDIUM)
        trained_files.refuse_large(shape["shapes"])
        weights = draw_weights(self.rng, shape["names"], shape["shapes"])
        ids = self.rng.integers(0, MEDIUM["vocab_size"], size=(3, 15))
        drawn = {"config": MEDIUM, "weights": weights, "ids": ids}
        got = self._ask("shared.model_logits", LOGITS, variant, **drawn)
        return {"asked": {"variant": variant} | drawn, "got": got}


class OutputsCase(GradedTestCase):
    """Reads the submission's outputs and runs models with its parameters."""

    def predictions(self, name: str, split: str) -> list[str]:
        """Return the lines of a prediction file, one for each question of the split."""
        return trained_files.read_predictions(
            self.staged, name, len(self.run.data.questions(split))
        )

    def expect_accuracy(self, name: str, variant: str) -> None:
        """Fail unless a dev prediction file reaches the data set's threshold."""
        places = self.run.data.places("dev")
        threshold = self.run.data.dataset.thresholds[variant]
        predicted = self.predictions(name, "dev")
        correct = trained_files.count_correct(predicted, places)
        id, sentence = "dev-predictions.too-few-right", f"{name} has too few right answers"
        cause = "the model was trained too briefly or not pretrained, or the training code is wrong"
        if trained_files.in_another_order(predicted, places):
            id = "dev-predictions.other-order"
            sentence = f"{name} has nearly all the right places, but not in the questions' order"
            cause = "the lines were sorted or shuffled; write the file with run.py evaluate"
        self.measure("accuracy", correct / len(places))
        self.measure("threshold", threshold)
        self.expect(
            correct >= threshold * len(places),
            sentence,
            id=id,
            got=f"{correct} of {len(places)} right ({correct / len(places):.1%})",
            expected=f"at least {threshold:.0%}",
            cause=cause,
        )
        if self.run.judging is None:
            self.not_graded(
                f"{correct} of {len(places)} are right, which is at least {threshold:.0%}. "
                "This counts once you submit, if your parameters give the same answers and show "
                "that they were pretrained"
            )
        self.run.judging.hidden.expect_own_answers(self, variant, "dev")

    def regenerated(self, params: str, prefix: str) -> dict[str, Any]:
        """Return the names that staff's judge needs to compare predictions with a checkpoint.

        On a student's computer, their own model answers a sample, to show that it runs.
        """
        if not self.graded_here:
            questions = [q for s in ("dev", "test") for q in self._sampled_questions(prefix, s)]
            self.model_answers(params, params.split(".")[0], questions)
        return {"params": params, "prefix": prefix}

    def _sampled_questions(self, prefix: str, split: str) -> list[str]:
        lines = self.predictions(f"{prefix}.{split}.predictions", split)
        chosen = self.rng.choice(len(lines), size=min(20, len(lines)), replace=False)
        return [self.run.data.questions(split)[i] for i in chosen]

    def model_answers(self, params: str, variant: str, questions: list[str]) -> list[str]:
        """Return the answers of a model with the student's parameters.

        Staff use the reference's model; on a student's computer it is the student's own.
        """
        weights, config = self.fitting(params, variant)
        ask = self.reference if self.graded_here else self.probe
        model, rows = self.loading(variant, config, weights), len(questions)
        answer = table({"places": str}, rows=rows)
        return ask("shared.answers", answer, model=model, questions=questions)["places"]

    def loading(self, variant: str, config: dict, weights: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return a probe's argument `model`."""
        corpus = self.run.data.corpus()
        return {"variant": variant, "config": config, "weights": weights, "corpus": corpus}

    def readings(
        self, weights: dict[str, np.ndarray], config: dict[str, Any]
    ) -> list[dict[str, np.ndarray]]:
        """Return a file's parameters in each arrangement that may be the reference's.

        A topic whose students may choose an arrangement of their own overrides this.
        """
        return [weights]

    def standing(self, variant: str) -> tuple[float, int]:
        """Return the share of right answers on dev, and how many parameters the model has.

        Raises:
            TestEnd: a file is missing, or the parameters fit no model.
        """
        places = self.run.data.places("dev")
        predicted = self.predictions(f"{variant}.pretrain.dev.predictions", "dev")
        weights, _ = self.fitting(f"{variant}.finetune.params", variant)
        parameters = sum(array.size for array in weights.values())
        return trained_files.count_correct(predicted, places) / len(places), parameters

    def fitting(self, params: str, variant: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the file's weights, and the config of the recipe's model that they fit.

        Raises:
            TestEnd: the file is missing, can't be read, or fits no recipe's model.
        """
        if self.staged.path(params) is None:
            command = "pretrain" if ".pretrain." in params else "finetune"
            writes = f"run.py {command} with `--writing_params_path {params}` writes it"
            raise TestEnd(trained_files.missing(self.staged, params, writes, "parameters"))
        read = self.probe("shared.read_parameters", PARAMETERS, name=params)
        weights = trained_files.parameters(read, params)
        vocab_size = len(items.expected_vocabulary([self.run.data.corpus()]))
        ask = self.reference if self.graded_here else self.probe
        first = ""
        dataset = self.run.data.dataset
        for config in trained_files.model_configs(self.run.assignment, dataset, variant).values():
            asked = {"variant": variant, "config": config | {"vocab_size": vocab_size}}
            got = ask("shared.shapes", SHAPES, **asked)
            shapes = dict(zip(got["names"], got["shapes"], strict=True))
            widened = trained_files.widen_columns(weights, shapes)
            problem = trained_files.misfit(widened, shapes)
            if not problem:
                return widened, config
            first = first or problem
        raise failure(
            f"{params} does not fit the {variant} model: {first}; was it written for a different "
            "variant, or trained on a different corpus or recipe?",
            id="parameters.misfit",
        )


class VariantCase(HelperCase, OutputsCase):
    """Tests the outputs of a variant of the model: predictions and the parameters behind them."""

    of_files = ("dev_accuracy", "test_accuracy", "matches_checkpoint")

    @graded()
    def test_dev_accuracy(self) -> None:
        """{variant}.pretrain.dev.predictions reaches the threshold."""
        self.expect_accuracy(f"{self.variant}.pretrain.dev.predictions", self.variant)

    @graded(is_hidden=True)
    def test_test_accuracy(self) -> None:
        """{variant}.pretrain.test.predictions reaches the threshold."""
        self.judge(
            variant=self.variant,
            predicted=self.predictions(f"{self.variant}.pretrain.test.predictions", "test"),
            places=self.run.data.places("test"),  # None where they are not known
            threshold=self.run.data.dataset.thresholds[self.variant],
        )

    @graded(is_hidden=True)
    def test_matches_checkpoint(self) -> None:
        """The predictions are the answers of {variant}.finetune.params."""
        self.judge(
            **self.regenerated(f"{self.variant}.finetune.params", f"{self.variant}.pretrain")
        )
