"""Runs SynthesizerAttention with random weights and inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import GradedTestCase
from questions.shared import random_inputs, specs

# Whether an output depends on position 0. If it doesn't, kernels that sum in a different order move
# it by 1e-15; if it does, it moves by about the largest weight that a head gives to position 0. In
# 2 million draws that was below 1e-6 with probability 2e-6, and each further decade divides this by
# 5 to 10: 2e-8 for 1e-9 and 7 positions, in the basic test; 1e-9 with 4 heads (63 positions).
MOVED = 1e-9


class AsksSynthesizer(GradedTestCase):
    """Runs SynthesizerAttention with random weights and inputs."""

    def columns(self, config: dict[str, Any]) -> int:
        """Return how many columns w2 has: block_size, or block_size - 1 as in earlier years."""
        got = self.probe("synthesizer.describe", specs.SHAPES, config=config)
        shapes = dict(zip(got["names"], got["shapes"], strict=True))
        block_size, hs = config["block_size"], config["n_embd"] // config["n_head"]
        columns = (shapes.get("w2") or [0])[-1]
        self.expect(
            columns in (block_size, block_size - 1) and shapes["w2"] == [hs, columns],
            "w2 does not have the shape that the given __init__ makes",
            got=shapes.get("w2"),
            expected=[hs, block_size],
            cause="__init__ is given; has it been changed?",
            look_at="SynthesizerAttention.__init__ in submission/attention.py",
        )
        return columns

    def forward(
        self, n_embd: int, n_head: int, block_size: int, inputs: list[np.ndarray], **asked: Any
    ) -> dict[str, Any]:
        """Return outputs for `inputs` with random weights."""
        config = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, config, self.columns(config))
        return self._forward(config=config, weights=weights, inputs=inputs, **asked)

    def _forward(self, inputs: list[np.ndarray], **asked: Any) -> dict[str, Any]:
        spec = specs.outputs(len(inputs))
        return self.probe("synthesizer.forward", spec, inputs=inputs, **asked)

    def outputs(
        self, got: dict[str, Any], inputs: list[np.ndarray], **detail: Any
    ) -> list[np.ndarray]:
        """Return the outputs; fail unless each is finite and has its input's shape."""
        outputs = got["outputs"]
        fine = len(outputs) == len(inputs) and all(map(_fits, outputs, inputs))
        self.expect(
            fine,
            "the output is not a tensor of finite numbers with the input's shape (B, T, C)",
            got=", ".join(got["forms"][:8]),
            **detail,
        )
        return outputs

    def plain_average(self, x: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the output for x if w2 and b2 are zero, and the weights used."""
        config = random_inputs.attention_config(x.shape[2], 3, 10)
        weights = random_inputs.synthesizer_weights(self.rng, config, self.columns(config))
        weights["w2"][:] = 0.0
        weights["b2"][:] = 0.0
        got = self._forward(config=config, weights=weights, inputs=[x])
        return self.outputs(got, [x])[0], weights

    def comparison(
        self, n_embd: int, n_head: int, block_size: int, lengths: list[int], dtype: str = "float64"
    ) -> dict[str, Any]:
        """Return outputs for several lengths, and what to ask the reference."""
        config = random_inputs.attention_config(n_embd, n_head, block_size)
        columns = self.columns(config)
        weights = random_inputs.synthesizer_weights(self.rng, config, columns)
        # Models of earlier years have one column fewer, and are never called at full length.
        sizes = [columns if T == block_size else T for T in lengths]
        inputs = [self.rng.normal(size=(2, T, n_embd)) for T in sizes]
        got = self._forward(config=config, weights=weights, inputs=inputs, dtype=dtype)
        return {"asked": {"config": config, "weights": weights, "inputs": inputs}, "got": got}

    def gradient_comparison(
        self, n_embd: int, n_head: int, block_size: int, T: int
    ) -> dict[str, Any]:
        """Return gradients of a random scalar of the output, and what to ask the reference."""
        config = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, config, self.columns(config))
        x, upstream = self.rng.normal(size=(2, 2, T, n_embd))
        asked = {"config": config, "weights": weights, "x": x, "upstream": upstream}
        return {
            "asked": asked,
            "got": self.probe("synthesizer.gradients", specs.GRADIENTS, **asked),
        }

    def perturbed(self, n_embd: int, n_head: int, block_size: int, T: int) -> dict[str, Any]:
        """Return outputs for x, for copies changed from each position on, and at the first one."""
        x = self.rng.normal(size=(1, T, n_embd))
        inputs = [x]
        for t in range(1, T):
            other = x.copy()
            other[:, t:] = self.rng.normal(size=(1, T - t, n_embd))
            inputs.append(other)
        inputs.append(self.changed_at_first(x))
        return {"inputs": inputs, "got": self.forward(n_embd, n_head, block_size, inputs)}

    def changed_at_first(self, x: np.ndarray) -> np.ndarray:
        """Copy x with other vectors at position 0, on which each output depends."""
        other = x.copy()
        other[:, 0] = self.rng.normal(size=other[:, 0].shape)
        return other

    def dropouts(self, n_embd: int, n_head: int, block_size: int) -> dict[str, Any]:
        """Return outputs of one input in evaluation and in training, each dropout on its own."""
        x = self.rng.normal(size=(2, 12, n_embd))
        plain = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, plain, self.columns(plain))

        def run(training: bool, **pdrop: float) -> dict[str, Any]:
            config = random_inputs.attention_config(n_embd, n_head, block_size, **pdrop)
            return self._forward([x, x], config=config, weights=weights, training=training)

        return {
            "x": x,
            "plain": run(False),
            "evaluation": run(False, attn_pdrop=0.5, resid_pdrop=0.5),
            "attention": run(True, attn_pdrop=0.5),
            "residual": run(True, resid_pdrop=0.5),
        }


def _fits(out: Any, x: np.ndarray) -> bool:
    """Return whether an output is an array of finite numbers in its input's shape."""
    fits = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == x.shape
    return fits and bool(np.isfinite(out).all())


def moved(out: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return for each position of each sequence whether two outputs differ there: bool (B, T)."""
    return np.abs(out - other).max(axis=2) > MOVED
