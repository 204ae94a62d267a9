"""Runs SynthesizerAttention with random weights and inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from grading.cases import GradedTestCase
from grading.schema import Where, table
from questions.shared import random_inputs, specs

from .columns import can_run, cut, is_given_shape

GRADIENTS = table({"names": str, "arrays": specs.ANY_REAL}, w2=[int])
# Whether an output depends on position 0. If it doesn't, kernels that sum in a different order move
# it by 1e-15; if it does, it moves by about the largest weight that a head gives to position 0. In
# 2 million draws that was below 1e-6 with probability 2e-6, and each further decade divides this by
# 5 to 10: 2e-8 for 1e-9 and 7 positions, in the basic test; 1e-9 with 4 heads (63 positions). That
# an output depends on its own position is surer still, since the scores change with it.
MOVED = 1e-9


class AsksSynthesizer(GradedTestCase):
    """Runs SynthesizerAttention with random weights and inputs."""

    def expect_given_shape(self, got: dict[str, Any], config: dict[str, Any]) -> int:
        """Fail unless w2 has the shape that a given `__init__` makes; return its columns."""
        self.expect(
            is_given_shape(got["w2"], config),
            "w2 does not have the shape that the given __init__ makes",
            id="w2.shape",
            got=got["w2"] or None,
            expected=[config["n_embd"] // config["n_head"], config["block_size"]],
            cause="__init__ is given; has it been changed?",
            look_at="SynthesizerAttention.__init__ in submission/attention.py",
        )
        return got["w2"][1]

    def forward(
        self, n_embd: int, n_head: int, block_size: int, inputs: list[np.ndarray], **asked: Any
    ) -> dict[str, Any]:
        """Return outputs for `inputs` with random weights."""
        config = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, config, block_size)
        return self._forward(config=config, weights=weights, inputs=inputs, **asked)

    def _forward(
        self, config: dict, inputs: list[np.ndarray], modes: list[dict] | None = None, **asked: Any
    ) -> dict[str, Any]:
        """Return outputs from one worker; fail unless w2 has the shape that is given."""
        spec = forward_spec(config, len(inputs) * len(modes or [{}]))
        asked |= {"config": config, "inputs": inputs, "modes": modes}
        got = self.probe("synthesizer.forward", spec, **asked)
        self.expect_given_shape(got, config)
        return got

    def outputs(
        self, got: dict[str, Any], inputs: list[np.ndarray], **detail: Any
    ) -> list[np.ndarray]:
        """Return the outputs; fail unless each is finite and has its input's shape."""
        outputs = got["outputs"]
        fine = len(outputs) == len(inputs) and all(map(_fits, outputs, inputs))
        self.expect(
            fine,
            "the output is not a tensor of finite numbers with the input's shape (B, T, C)",
            id="output.form",
            got=", ".join(got["forms"][:8]),
            **detail,
        )
        return outputs

    def plain_average(self, x: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the output for x if w2 and b2 are zero, and the weights used."""
        config = random_inputs.attention_config(x.shape[2], 3, 10)
        weights = random_inputs.synthesizer_weights(self.rng, config, config["block_size"])
        weights["w2"][:] = 0.0
        weights["b2"][:] = 0.0
        got = self._forward(config=config, weights=weights, inputs=[x])
        return self.outputs(got, [x])[0], weights

    def comparison(
        self, n_embd: int, n_head: int, block_size: int, lengths: list[int], dtype: str = "float64"
    ) -> dict[str, Any]:
        """Return outputs for several lengths, and what to ask the reference."""
        config = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, config, block_size)
        inputs = [self.rng.normal(size=(2, T, n_embd)) for T in lengths]
        got = self._forward(config=config, weights=weights, inputs=inputs, dtype=dtype)
        # Models of earlier years have one column fewer, and are never called at full length.
        columns = got["w2"][1]
        narrow = [np.ascontiguousarray(x[:, :columns]) for x in inputs]
        asked = {"config": config, "weights": cut(weights, columns), "inputs": narrow}
        return {"asked": asked, "got": got}

    def gradient_comparison(
        self, n_embd: int, n_head: int, block_size: int, T: int
    ) -> dict[str, Any]:
        """Return gradients of a random scalar of the output, and what to ask the reference."""
        config = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, config, block_size)
        x, upstream = self.rng.normal(size=(2, 2, T, n_embd))
        asked = {"config": config, "weights": weights, "x": x, "upstream": upstream}
        got = self.probe("synthesizer.gradients", GRADIENTS, **asked)
        columns = self.expect_given_shape(got, config)
        return {"asked": asked | {"weights": cut(weights, columns)}, "got": got}

    def perturbed(
        self, n_embd: int, n_head: int, block_size: int, lengths: list[int]
    ) -> list[dict[str, Any]]:
        """Return for each length the inputs of `changes`, and the outputs."""
        groups = [self.changes(self.rng.normal(size=(1, T, n_embd))) for T in lengths]
        inputs = [x for group in groups for x in group]
        got = self.forward(n_embd, n_head, block_size, inputs)
        outputs = _parted(got, [len(group) for group in groups])
        return [{"inputs": group, "got": out} for group, out in zip(groups, outputs, strict=True)]

    def changes(self, x: np.ndarray) -> list[np.ndarray]:
        """Return x, copies of it changed from each position on, and one changed at the first."""
        inputs = [x]
        for t in range(1, x.shape[1]):
            other = x.copy()
            other[:, t:] = self.rng.normal(size=other[:, t:].shape)
            inputs.append(other)
        return [*inputs, self.changed_at(x, 0)]

    def changed_at(self, x: np.ndarray, position: int) -> np.ndarray:
        """Copy x with other vectors at a position; on the first one each output depends."""
        other = x.copy()
        other[:, position] = self.rng.normal(size=other[:, position].shape)
        return other

    def dropouts(self, n_embd: int, n_head: int, block_size: int) -> dict[str, Any]:
        """Return outputs of one input in evaluation and in training, each dropout on its own."""
        x = self.rng.normal(size=(2, 12, n_embd))
        plain = random_inputs.attention_config(n_embd, n_head, block_size)
        weights = random_inputs.synthesizer_weights(self.rng, plain, block_size)
        modes: dict[str, dict[str, Any]] = {
            "plain": {},
            "evaluation": {"attn_pdrop": 0.5, "resid_pdrop": 0.5},
            "attention": {"training": True, "attn_pdrop": 0.5},
            "residual": {"training": True, "resid_pdrop": 0.5},
        }
        got = self._forward(plain, [x, x], list(modes.values()), weights=weights)
        return {"x": x} | dict(zip(modes, _parted(got, [2] * len(modes)), strict=True))


def forward_spec(config: dict[str, Any], rows: int) -> Where:
    """Return the spec of `synthesizer.forward`'s answer with this many outputs."""

    def all_or_nothing(value: dict[str, Any]) -> bool:
        return len(value["outputs"]) == (rows if can_run(value["w2"], config) else 0)

    spec = table({"forms": str, "outputs": specs.ANY_REAL}, w2=[int])
    return Where(spec, all_or_nothing, f"{rows} outputs, or none if w2 is too small")


def _parted(got: dict[str, Any], counts: list[int]) -> list[dict[str, Any]]:
    """Part an answer into consecutive ones with these numbers of outputs."""
    ends = list(itertools.accumulate(counts))
    parts = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    return [{key: got[key][part] for key in ("forms", "outputs")} for part in parts]


def _fits(out: Any, x: np.ndarray) -> bool:
    """Return whether an output is an array of finite numbers in its input's shape."""
    fits = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == x.shape
    return fits and bool(np.isfinite(out).all())


def moved(out: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return for each position of each sequence whether two outputs differ there: bool (B, T)."""
    return np.abs(out - other).max(axis=2) > MOVED
