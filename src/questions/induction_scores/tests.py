"""Induction scores: inputs with random weights, and what the basic tests assert."""

from typing import Any

import numpy as np

from grading.cases import graded
from questions.shared.functions import FunctionCase

TOLERANCE = 1e-6  # an answer may be in single precision
PREVIOUS, INDUCTION = "previous_token_score", "induction_score"
SIZES = ((1, 1), (2, 2), (4, 4), (3, 5), (8, 8))  # of hidden inputs: heads, pairs


def draw_weights(rng: np.random.Generator, nh: int, T: int) -> np.ndarray:
    """Draw causal attention weights, (nh, T, T), float64: rows sum to 1."""
    weights = np.tril(rng.uniform(0.1, 1.0, (nh, T, T)))
    return weights / weights.sum(axis=-1, keepdims=True)


def draw_tokens(rng: np.random.Generator, pairs: int) -> np.ndarray:
    """Draw pairs of a letter and a digit, then one of the letters: (2 pairs + 1,), int64.

    Letters have the ids 0 to pairs - 1, each once; digits, which may repeat, the next ones.
    """
    tokens = np.empty(2 * pairs + 1, dtype=np.int64)
    tokens[:-1:2] = rng.permutation(pairs)
    tokens[1::2] = pairs + rng.integers(0, pairs, size=pairs)
    tokens[-1] = rng.integers(0, pairs)
    return tokens


class InductionScores(FunctionCase):
    topic = "induction_scores"
    module, asks = "induction_scores.py", "building_blocks.call"
    columns = {"changed": bool}

    @graded()
    def test_one_pair(self) -> None:
        """Both scores are right for B 2 B"""
        weights = draw_weights(self.rng, nh=3, T=3)
        examples = {
            PREVIOUS: ([weights], weights[:, 1, 0]),
            INDUCTION: ([weights, np.array([0, 1, 0])], weights[:, 2, 1]),
        }
        for function, (given, right) in examples.items():
            (got,) = self.scores(function, [given])
            self.expect(
                bool(np.abs(got - right).max() <= TOLERANCE),
                f"{function} is wrong for the weights of three heads on B 2 B",
                id=f"induction.{function}.one-pair",
                got=got.round(3).tolist(),
                expected=right.round(3).tolist(),
                cause="which row is the position that looks, and which column the one looked at?",
                look_at=f"{function} in submission/induction_scores.py",
            )

    @graded()
    def test_circuit(self) -> None:
        """A perfect circuit has the scores 1 and 1, and plain averages have less"""
        T, tokens = 9, np.array([1, 4, 3, 5, 0, 6, 2, 4, 0])  # B 0 D 1 A 2 C 0 A
        plain = np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None]
        first, second = plain.copy(), plain.copy()
        first[1::2] = np.eye(T)[0:-1:2]  # each digit looks at its letter
        second[-1] = np.eye(T)[5]  # the last letter looks at the digit behind the first A
        examples = {
            PREVIOUS: ([np.stack([first, plain])], [1, (1 / 2 + 1 / 4 + 1 / 6 + 1 / 8) / 4]),
            INDUCTION: ([np.stack([second, plain]), tokens], [1, 1 / 9]),
        }
        for function, (given, right) in examples.items():
            (got,) = self.scores(function, [given])
            self.expect(
                bool(np.abs(got - right).max() <= TOLERANCE),
                f"{function} is wrong for B 0 D 1 A 2 C 0 A: a perfect head, and one that averages",
                id=f"induction.{function}.circuit",
                got=got.round(3).tolist(),
                expected=np.round(right, 3).tolist(),
                cause="which positions count? digits stand at 1, 3, 5 and 7",
                look_at=f"{function} in submission/induction_scores.py",
            )

    @graded(is_hidden=True)
    def test_previous(self) -> None:
        """previous_token_score is right for any weights"""
        inputs = [[draw_weights(self.rng, nh, 2 * pairs + 1)] for nh, pairs in SIZES]
        self.judge(inputs=inputs, got=self.scores(PREVIOUS, inputs))

    @graded(is_hidden=True)
    def test_induction(self) -> None:
        """induction_score is right for any weights and inputs"""
        inputs = [
            [draw_weights(self.rng, nh, 2 * pairs + 1), draw_tokens(self.rng, pairs)]
            for nh, pairs in SIZES
            for _ in range(3)
        ]
        self.judge(inputs=inputs, got=self.scores(INDUCTION, inputs))

    def scores(self, function: str, inputs: list[list[Any]]) -> list[np.ndarray]:
        """Return a function's answers; fail unless they are scores, one for each head."""
        answers = self.ask(function, inputs)
        for answer, (weights, *_) in zip(answers, inputs, strict=True):
            nh, (scores,) = len(weights), answer.parts
            is_array = isinstance(scores, np.ndarray) and scores.shape == (nh,)
            answer.expect(
                is_array and answer.form in (f"float32[{nh}]", f"float64[{nh}]"),
                f"{function} doesn't return one score for each head",
                id=f"induction.{function}.form",
                got=answer.form,
                expected=f"float64[{nh}] for weights of shape {weights.shape}",
            )
        self.expect(
            not any(answer.changed for answer in answers),
            f"{function} changes its arguments",
            id=f"induction.{function}.changes",
        )
        return [answer.parts[0] for answer in answers]
