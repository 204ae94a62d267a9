"""A submission's models: their attention, their shapes, their logits for random parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import GradedTestCase
from grading.wire import AnyOf, Array, Maybe, Where, table

from . import trained_files

HELPER = "submission/helper.py"
# What probes answer.
ANY_REAL = Maybe(Array("float64", None))  # None: not a tensor of real numbers, or far too large
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
        asked: dict[str, Any] = {
            "variant": variant,
            "config": MEDIUM,
            "weights": weights,
            "ids": ids,
        }
        return {"asked": asked, "got": self._ask("shared.model_logits", LOGITS, **asked)}
