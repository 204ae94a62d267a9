"""Calls the functions of attention_exploration.py and checks what they return."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import Answer, AsksFunctions
from questions.shared import random_inputs, specs

from .attention_math import attention_weights, weights_are_right

# What each function returns: the number of parts, and a description.
RETURNS = {
    "copying_query": (1, "a query of shape (d,)"),
    "copying_keys": (1, "keys of shape (n, d)"),
    "average_query": (1, "a query of shape (d,)"),
    "single_head_query": (1, "a query of shape (d,)"),
    "single_head_weights": (2, "two numbers"),
    "steady_query": (1, "a query of shape (d,)"),
    "two_head_queries": (2, "two queries, each of shape (d,)"),
    "unprojected_output": (1, "a vector of shape (d,)"),
    "added_output": (1, "a vector of shape (d,)"),
    "key_query_value": (3, "three matrices, each of shape (d, d)"),
}


NEARLY_PERPENDICULAR = 0.15  # the largest absolute cosine of two keys that average_query gets


class AsksAttention(AsksFunctions):
    """Calls the functions of attention_exploration.py and checks what they return."""

    part = specs.ANY_REAL

    def ask(self, function: str, arguments: list[list[Any]]) -> list[Answer]:
        """Return the function's answers, one for each list of arguments, from one worker."""
        parts, _ = RETURNS[function]
        module = "attention_exploration.py"
        return self.call("attention_exploration.call", module, function, arguments, parts)[0]

    def checked(self, answer: Answer, shape: tuple[int, ...]) -> list[np.ndarray]:
        """Return an answer's parts; fail unless they are finite float64 arrays of this shape."""
        count, words = RETURNS[answer.function]
        fits = all(
            isinstance(part, np.ndarray) and part.dtype == np.float64 and part.shape == shape
            for part in answer.parts
        )
        finite = fits and all(bool(np.isfinite(part).all()) for part in answer.parts)
        one = f"float64[{', '.join(map(str, shape))}]" if shape else "a number"
        self.expect(
            finite,
            f"{answer.function} should return {words}, with finite numbers only",
            id=f"{answer.subject}.return",
            got=answer.form + (", with nan or infinity" if fits else ""),
            expected=one if count == 1 else f"{count} parts, each {one}",
            look_at=answer.look_at,
        )
        return answer.parts

    def weights(self, answer: Answer) -> tuple[np.ndarray, list[int]]:
        """Compute an answer's attention weights; also return which keys should have weight."""
        if answer.function == "copying_keys":
            query, n, j = answer.arguments
            (keys,) = self.checked(answer, (n, len(query)))
            return attention_weights(query, keys), [j]
        keys, *places = answer.arguments
        (query,) = self.checked(answer, (keys.shape[1],))
        return attention_weights(query, keys), places

    def expect_weights(self, function: str, arguments: list[list[Any]]) -> None:
        """Fail unless each answer gives equal weights to the right keys, and none to others."""
        for answer in self.ask(function, arguments):
            alpha, places = self.weights(answer)
            which = f"each of the keys {places}" if len(places) > 1 else f"key {places[0]}"
            self.expect(
                weights_are_right(alpha, places),
                f"the attention weights that result from {function} are wrong",
                id=f"{answer.subject}.weights",
                got=f"the weights {shown(alpha)} for {len(alpha)} keys",
                expected=f"{1 / len(places):g} for {which}, 0 for the others",
                cause="print the scores k_i . q and their softmax: which keys get the weight?",
                look_at=answer.look_at,
            )

    def copying(self, trials: int) -> list[Answer]:
        """Return answers of copying_query for random keys."""
        arguments = []
        for _ in range(trials):
            d = int(self.rng.integers(2, 13))
            n = int(self.rng.integers(2, d + 1))
            arguments.append(
                [random_inputs.oblique_keys(self.rng, n, d), int(self.rng.integers(n))]
            )
        return self.ask("copying_query", arguments)

    def copying_backwards(self, trials: int) -> list[Answer]:
        """Return answers of copying_keys for random queries, short and long."""
        arguments = []
        for _ in range(trials):
            query = self.rng.normal(size=int(self.rng.integers(2, 13)))
            query *= 10 ** self.rng.uniform(-2, 2) / np.linalg.norm(query)
            n = int(self.rng.integers(2, 16))
            arguments.append([query, n, int(self.rng.integers(n))])
        return self.ask("copying_keys", arguments)

    def averaging(self, trials: int) -> list[Answer]:
        """Return answers of average_query for random keys."""
        arguments = []
        for _ in range(trials):
            d = int(self.rng.integers(2, 13))
            n = int(self.rng.integers(2, d + 1))
            keys = random_inputs.oblique_keys(self.rng, n, d, NEARLY_PERPENDICULAR)
            arguments.append([keys, *self.two_of(n)])
        return self.ask("average_query", arguments)

    def two_of(self, n: int) -> tuple[int, int]:
        """Draw two different places below n."""
        a, b = self.rng.choice(n, size=2, replace=False)
        return int(a), int(b)


def shown(numbers: np.ndarray) -> list:
    """Round numbers to three decimals for a message."""
    with np.errstate(all="ignore"):  # numbers near the limit of float64
        return (np.round(numbers, 3) + 0.0).tolist()  # + 0.0: no "-0.0"
