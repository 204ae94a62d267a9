"""Tries queries from attention_exploration.py on keys of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import answers, material


class AsksAttention:
    """Tries queries from attention_exploration.py on keys of ours."""

    def expect_weights(
        self, function: str, keys: list[np.ndarray], places: list[list[int]]
    ) -> None:
        """The query for each set of keys puts equal weights on `places`, and none elsewhere."""
        got = self._ask(function, keys, places)
        for form, query, k, where in zip(got["forms"], got["queries"], keys, places, strict=True):
            alpha = self.weights(form, query, k, function)
            self.expect(
                weights_are_right(alpha, where),
                f"the query of {function} gives other attention weights",
                got=f"weights {np.round(alpha, 3).tolist()} for {len(k)} keys",
                expected=f"{1 / len(where):g} for each of {where}, 0 for the others",
                cause="the query is too short (scale it up), or points elsewhere",
                look_at=f"{function} in submission/attention_exploration.py",
            )

    def weights(self, form: str, query: Any, keys: np.ndarray, function: str) -> np.ndarray:
        """The attention weights that a query produces, computed here, stably."""
        fine = isinstance(query, np.ndarray) and query.shape == (keys.shape[1],)
        self.expect(
            fine and bool(np.isfinite(query).all()),
            f"{function} doesn't return a query of shape (d,) with finite numbers",
            got=form,
            expected=f"float64[{keys.shape[1]}]",
        )
        scores = keys @ query
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum()

    def copying(self, trials: int) -> dict[str, Any]:
        """Queries of copying_query for random keys."""
        keys, places = [], []
        for _ in range(trials):
            d = int(self.rng.integers(2, 13))
            n = int(self.rng.integers(2, d + 1))
            keys.append(material.oblique_keys(self.rng, n, d))
            places.append([int(self.rng.integers(n))])
        return self._asked("copying_query", keys, places)

    def averaging(self, trials: int) -> dict[str, Any]:
        """Queries of average_query for random keys."""
        keys, places = [], []
        while len(keys) < trials:
            d = int(self.rng.integers(2, 13))
            n = int(self.rng.integers(2, d + 1))
            drawn = material.oblique_keys(self.rng, n, d)
            a, b = (int(i) for i in self.rng.choice(n, size=2, replace=False))
            if averaging_margin(drawn, a, b) >= 0.5:  # as the docstring promises
                keys.append(drawn)
                places.append([a, b])
        return self._asked("average_query", keys, places)

    def _asked(
        self, function: str, keys: list[np.ndarray], places: list[list[int]]
    ) -> dict[str, Any]:
        got = self._ask(function, keys, places)
        return {"function": function, "keys": keys, "places": places, "got": got}

    def _ask(self, function: str, keys: list[np.ndarray], places: list[list[int]]) -> dict:
        got = self.probe(
            "attention.query", answers.QUERIES, function=function, keys=keys, places=places
        )
        self.expect(len(got["queries"]) == len(got["forms"]) == len(keys), "answers are missing")
        return got


def weights_are_right(alpha: np.ndarray, places: list[int], tolerance: float = 0.01) -> bool:
    """Equal weights on `places`, none elsewhere, within a tolerance.

    With a margin of 0.5 between the scores (all that tests draw), a scale of 50 leaves 12 keys
    12 e^-25 < 1e-9 of weight; 0.01 rejects a scale below 14 (12 e^-7 = 0.011).
    """
    wanted = np.zeros(len(alpha))
    wanted[places] = 1 / len(places)
    return bool(np.abs(alpha - wanted).max() <= tolerance)


def averaging_margin(keys: np.ndarray, a: int, b: int) -> float:
    """How much closer k_a and k_b are to k_a + k_b than any other key is."""
    scores = keys @ (keys[a] + keys[b])
    others = np.delete(scores, [a, b])
    return float(min(scores[a], scores[b]) - others.max()) if len(others) else float("inf")
