"""Self-attention with and without K, Q and V, on orthogonal vectors."""

from __future__ import annotations

import numpy as np

from grading.cases import graded
from questions.shared import random_inputs

from . import attention_math
from .calling import Answer, AsksAttention, shown

NAMES = ("ua", "ub", "uc", "ud")
BETAS = (5.0, 10.0, 20.0)  # growing; at 5, weights differ from their limits by e^-25 = 1.4e-11
LIMIT = 1e-6  # of a vector, relative to beta; other sums of ua, ub, uc, ud are off by .5 or more
NEAR = 0.01  # of c_1 and c_2, relative to beta


class AsksProjections(AsksAttention):
    """Checks answers about self-attention, with and without K, Q and V, on orthogonal vectors."""

    def directions(self, trials: int) -> list[np.ndarray]:
        """Draw sets of four perpendicular vectors of norm 1, shape (4, d) each."""
        sizes = self.rng.integers(4, 13, size=trials)
        return [random_inputs.orthonormal_keys(self.rng, 4, int(d)) for d in sizes]

    def outputs(
        self, function: str, directions: list[np.ndarray], *added: int
    ) -> list[list[Answer]]:
        """Return answers of unprojected_output or added_output: for each set, one at each beta.

        Args:
            added: indices in NAMES of the vectors to add to x_2, one at a time.
        """
        arguments = [
            [*(beta * u), *(beta * u[i] for i in place)]
            for u in directions
            for place in ([[place] for place in added] or [[]])
            for beta in BETAS
        ]
        answers = self.ask(function, arguments)
        return [answers[i : i + len(BETAS)] for i in range(0, len(answers), len(BETAS))]

    def distances(self, answers: list[Answer]) -> list[float]:
        """Compute how far the answers are from attention's c_2, relative to beta, at each beta."""
        found = []
        for answer, beta in zip(answers, BETAS, strict=True):
            u, added = answer.arguments[:4], answer.arguments[4:]
            (vector,) = self.checked(answer, u[0].shape)
            identity = np.eye(len(u[0]))
            c, _ = attention_math.self_attention(
                attention_math.inputs(u, *added), identity, identity, identity
            )
            with np.errstate(all="ignore"):
                found.append(float(np.linalg.norm(vector - c[1]) / beta))
        return found

    def expect_limit(self, function: str, directions: list[np.ndarray], *added: int) -> None:
        """Fail unless the function returns the limit of attention's c_2."""
        for answers in self.outputs(function, directions, *added):
            distances = self.distances(answers)
            u, more = answers[-1].arguments[:4], answers[-1].arguments[4:]
            x = attention_math.inputs(u, *more)
            named = [n for n, v in zip(NAMES, u, strict=True) for m in more if np.array_equal(v, m)]
            what = "".join(f" when {name} is added to x_2" for name in named)
            (vector,) = answers[-1].parts
            weights = np.linalg.lstsq(x.T, vector, rcond=None)[0]
            words = attention_math.in_terms_of(vector, dict(zip(NAMES, u, strict=True)))
            self.expect(
                max(distances) <= LIMIT,  # False for nan
                f"{function} does not return the limit of c_2{what}",
                id=f"{answers[-1].subject}.limit" + "".join(f"-with-{name}" for name in named),
                got=f"{words}, for which the best weights on x_1, x_2, x_3 would be "
                f"{shown(weights)}; attention's c_2 is "
                f"{', '.join(f'{d:.2g} beta' for d in distances)} away at beta = "
                f"{', '.join(f'{beta:g}' for beta in BETAS)}",
                expected="a distance that tends to 0 as beta grows",
                cause="which score x_2 . x_j is the largest?",
                look_at=answers[-1].look_at,
            )

    def matrices(self, directions: list[np.ndarray], betas: list[float]) -> list[Answer]:
        """Return answers of key_query_value, one for each set and its beta."""
        pairs = zip(directions, betas, strict=True)
        return self.ask("key_query_value", [list(beta * u) for u, beta in pairs])

    def projected(self, answer: Answer) -> tuple[np.ndarray, np.ndarray, list[float]]:
        """Compute outputs and weights with K, Q, V, and how far off c_1 and c_2 are."""
        _, ub, uc, _ = u = answer.arguments
        K, Q, V = self.checked(answer, (len(ub), len(ub)))
        c, alpha = attention_math.self_attention(attention_math.inputs(u), K, Q, V)
        with np.errstate(all="ignore"):
            misses = [np.linalg.norm(c[0] - (ub - uc)), np.linalg.norm(c[1] - ub)]
            return c, alpha, [float(miss / np.linalg.norm(ub)) for miss in misses]

    def expect_projected(self, directions: list[np.ndarray], betas: list[float]) -> None:
        """Fail unless, with K, Q and V, c_2 is close to ub, and c_1 to ub - uc."""
        for answer in self.matrices(directions, betas):
            c, alpha, (first, second) = self.projected(answer)
            named = dict(zip(NAMES, answer.arguments, strict=True))
            for i, miss, wanted in ((1, second, "ub"), (0, first, "ub - uc")):
                finite = bool(np.isfinite(c[i]).all())
                output = attention_math.in_terms_of(c[i], named) if finite else "not finite"
                self.expect(
                    miss <= NEAR,
                    f"with these K, Q and V, c_{i + 1} is not close to {wanted}",
                    id=f"key-query-value.c-{i + 1}",
                    got=f"c_{i + 1} is {output}; the weights of x_{i + 1} on x_1, x_2, x_3 are "
                    f"{shown(alpha[i])}",
                    expected=f"c_{i + 1} is {wanted}, within {NEAR:g} beta",
                    cause="a value v_1 or v_3 is wrong, or the wrong score k_j . q_i is the "
                    "largest",
                    look_at=answer.look_at,
                )


class AttentionKeyQueryValue(AsksProjections):
    topic = "attention_key_query_value"

    @graded()
    def test_unprojected(self) -> None:
        """unprojected_output returns the limit of attention's c_2."""
        self.expect_limit("unprojected_output", [np.eye(4), *self.directions(1)])

    @graded()
    def test_added(self) -> None:
        """added_output returns the limit of c_2 when ud or uc is added to x_2."""
        self.expect_limit("added_output", [np.eye(4), *self.directions(1)], 3, 2)

    @graded()
    def test_matrices(self) -> None:
        """key_query_value returns K, Q, V with which c_2 is ub and c_1 is ub - uc."""
        self.expect_projected([np.eye(4), np.eye(6)[1:5], *self.directions(1)], [5.0, 20.0, 8.0])

    @graded(is_hidden=True)
    def test_unprojected_any(self) -> None:
        """unprojected_output is right for any orthogonal vectors."""
        self.judge(tried=self.outputs("unprojected_output", self.directions(10)))

    @graded(is_hidden=True)
    def test_added_any(self) -> None:
        """added_output is right for any orthogonal vectors."""
        self.judge(tried=self.outputs("added_output", self.directions(10), 2, 3))

    @graded(is_hidden=True)
    def test_matrices_any(self) -> None:
        """key_query_value is right for any orthogonal vectors of length 5 or more."""
        betas = [5.0, *(float(b) for b in 5 * 20 ** self.rng.random(19))]
        self.judge(tried=self.matrices(self.directions(20), betas))
