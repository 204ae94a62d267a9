"""Runs RoPE's two functions on random inputs, and models whose attention uses them."""

from __future__ import annotations

from typing import Any

import numpy as np

from questions.shared import specs
from questions.shared.handed_in import AsksFiles

from . import pairing

TURN = "apply_rotary_emb in submission/attention.py"
ANGLES = "precompute_rotary_emb in submission/attention.py"


class AsksRope(AsksFiles):
    """Runs RoPE's two functions on random inputs, and models whose attention uses them."""

    def rope_angles(self, sizes: list[list[int]]) -> dict[str, Any]:
        """Return what precompute_rotary_emb returns for each pair (dim, max_positions)."""
        return self._outputs("rope.angles", len(sizes), sizes=sizes)

    def turned(
        self, inputs: list[np.ndarray], spare: int = 0, dtype: str = "float64"
    ) -> dict[str, Any]:
        """Return apply_rotary_emb's outputs for inputs (B, n_head, T, hs), and the arguments.

        The angles are not RoPE's own: any will do, and these do not reveal RoPE's.

        Args:
            spare: how many more positions than T the cache has.
        """
        caches = [self._cache(x.shape[3], x.shape[2] + spare) for x in inputs]
        asked = {"inputs": inputs, "caches": caches}
        got = self._outputs("rope.turned", len(inputs), **asked, dtype=dtype)
        return {"asked": asked, "got": got}

    def _cache(self, hs: int, positions: int) -> np.ndarray:
        """Draw angles: t * theta_k for pair k, with theta_k from .3 to 1.3."""
        return pairing.cache(self.rng.uniform(0.3, 1.3, size=hs // 2), positions)

    def turned_arrays(self, inputs: list[np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
        """Return apply_rotary_emb's outputs for angles t * theta_k, for basic tests.

        The test fails unless the arrays have the inputs' shapes.
        """
        caches = [pairing.cache(theta, x.shape[2]) for x in inputs]
        got = self._outputs("rope.turned", len(inputs), inputs=inputs, caches=caches)
        for x, out, form in zip(inputs, got["outputs"], got["forms"], strict=True):
            self.expect(
                isinstance(out, np.ndarray)
                and out.shape == x.shape
                and bool(np.isfinite(out).all()),
                "apply_rotary_emb should return a tensor of finite numbers with the shape of x",
                id="rotation.shape",
                got=form,
                expected=list(x.shape),
                look_at=TURN,
            )
        return got["outputs"]

    def rope_gradient(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return the gradient of a random scalar of the rotated x, and the arguments."""
        x, upstream = self.rng.normal(size=(2, *shape))
        asked = {"x": x, "cache": self._cache(shape[3], shape[2] + 3), "upstream": upstream}
        return {"asked": asked, "got": self._outputs("rope.gradient", 1, **asked)}

    def _outputs(self, probe: str, count: int, **asked: Any) -> dict[str, Any]:
        return self.probe(probe, specs.outputs(count), **asked)
