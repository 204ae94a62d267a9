"""One head and two heads, on keys that are sampled around their means."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import graded
from questions.shared import random_inputs

from . import attention_math
from .attention_math import attention_weights, weights_are_right
from .calling import Answer, AsksAttention, shown

# Weights must be exact. Scores reach 5,000 * 4, whose rounding error of 2e-12 moves weights by as
# much; a formula that leaves out a term or overflows is off by far more.
EXACT = 1e-9
# Arguments of single_head_weights, and attention's weights of all keys.
WEIGHTS = [
    ([1.0, 0.5, 4], [0.258947772606, 0.426932700695, 0.15705976335, 0.15705976335]),
    (
        [20.0, 0.9, 5],
        [0.119202921373, 0.880797073181, 1.81545807802e-09, 1.81545807802e-09, 1.81545807802e-09],
    ),
    ([20.0, 1.0, 2], [0.5, 0.5]),
    ([5000.0, 1.0002, 3], [0.73105857863, 0.26894142137, 0]),
]
APART = 1.0  # the least norm of the difference of two queries that counts as different


class AsksHeads(AsksAttention):
    """Tries answers about one head and two heads on keys that are sampled around their means."""

    def some_means(self) -> list[list[Any]]:
        """Return a simple set of means and a random one, each with a and b."""
        return [[np.eye(4), 0, 2], [random_inputs.orthonormal_keys(self.rng, 5, 6), 4, 1]]

    def many_means(self, trials: int) -> list[list[Any]]:
        """Draw arguments of the functions that return queries: means, a, b."""
        arguments = []
        for _ in range(trials):
            d = int(self.rng.integers(2, 13))
            n = int(self.rng.integers(2, d + 1))
            arguments.append([random_inputs.orthonormal_keys(self.rng, n, d), *self.two_of(n)])
        return arguments

    def samples_of(
        self, function: str, arguments: list[list[Any]], samples: int, *, stretched: bool = False
    ) -> list[tuple[Answer, np.ndarray]]:
        """Return answers of a function of means, a and b, each with samples of the keys.

        With a query of length |q|, the scores of a and b differ by sqrt(2 alpha) |q| at one
        standard deviation. That is .0025 with alpha = 1e-14 and a scale of 5,000 for each of 12
        means. A weight leaves .49 to .51 when they differ by .04, which is 16 standard deviations
        and has a probability below 1e-50 per sample.

        Args:
            stretched: whether k_a is longer or shorter than its mean.
        """
        answers = self.ask(function, arguments)
        rows = [
            attention_math.draw_keys(self.rng, means, samples, a if stretched else None)
            for means, a, _ in arguments
        ]
        return list(zip(answers, rows, strict=True))

    def sampled_weights(self, answer: Answer, keys: np.ndarray) -> np.ndarray:
        """Compute attention's weights for a query and each sample of keys, shape (samples, n)."""
        (query,) = self.checked(answer, (keys.shape[-1],))
        return attention_weights(query, keys)

    def expect_average(
        self, function: str, arguments: list[list[Any]], samples: int, *, stretched: bool = False
    ) -> None:
        """Fail unless a function's query averages two values in each sample of the keys."""
        for answer, keys in self.samples_of(function, arguments, samples, stretched=stretched):
            _, *places = answer.arguments
            for row, alpha in zip(keys, self.sampled_weights(answer, keys), strict=True):
                length = float(row[places[0]] @ answer.arguments[0][places[0]])
                which = (
                    f"when k_{places[0]} is {length:.3g} long" if stretched else "near their means"
                )
                self.expect(
                    weights_are_right(alpha, places),
                    f"the attention weights that result from {function} are wrong for some keys "
                    f"{which}",
                    id=f"{answer.subject}.weights",
                    got=f"the weights {shown(alpha)} for {len(alpha)} keys",
                    expected=f"0.5 for each of the keys {places}, 0 for the others",
                    cause="print the scores k_i . q and their softmax: which keys get the weight?",
                    look_at=answer.look_at,
                )

    def expect_exact(self, wanted: list[tuple[list[Any], list[float]]]) -> None:
        """Fail unless single_head_weights returns attention's weights of a and b."""
        answers = self.ask("single_head_weights", [arguments for arguments, _ in wanted])
        for answer, (_, alpha) in zip(answers, wanted, strict=True):
            got = np.stack(self.checked(answer, ()))
            scale, length, n = answer.arguments
            self.expect(
                bool(np.abs(got - alpha[:2]).max() <= EXACT),
                "the weights that single_head_weights returns are not those of attention",
                id="single-head-weights.values",
                got=f"{got.tolist()} for scale = {scale:g}, length = {length:g}, n = {n}",
                expected=f"{alpha[:2]}; the weights of all keys, a and b first, are "
                f"{shown(np.array(alpha))}",
                look_at=answer.look_at,
            )

    def stretched(
        self, trials: int, limits: list[float]
    ) -> list[tuple[Answer, np.ndarray, np.ndarray]]:
        """Return answers of single_head_weights about sampled keys, with the means and the keys.

        Each k_a has covariance alpha I + (1/2) mu_a mu_a^T. The function gets its part along mu_a
        as the length; the noise, alpha = 1e-14, is unknown to it.

        Args:
            limits: further lengths to try, at a scale of 5,000.
        """
        arguments, drawn = [], []
        for _ in range(trials):
            n = int(self.rng.integers(2, 13))
            means = random_inputs.orthonormal_keys(self.rng, n, n + int(self.rng.integers(3)))
            scale = float(10 ** self.rng.uniform(-1, np.log10(5000)))
            (keys,) = attention_math.draw_keys(self.rng, means, 1, stretched=0)
            arguments.append([scale, float(keys[0] @ means[0]), n])
            drawn.append((means, keys))
        for length in limits:
            arguments.append([5000.0, length, 4])
            drawn.append((np.eye(4), attention_math.lengthened(np.eye(4), 0, length)))
        answers = self.ask("single_head_weights", arguments)
        return [(a, means, keys) for a, (means, keys) in zip(answers, drawn, strict=True)]

    def both_heads(self, answer: Answer, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Compute attention's weights of each head, and how far apart the queries are.

        Args:
            keys: shape (samples, n, d).

        Returns:
            the heads' weights, each (samples, n), and the norm of the difference of the queries.
        """
        first, second = self.checked(answer, (keys.shape[-1],))
        with np.errstate(all="ignore"):
            apart = float(np.linalg.norm(first - second))
        return attention_weights(first, keys), attention_weights(second, keys), apart

    def expect_average_of_heads(self, arguments: list[list[Any]], samples: int) -> None:
        """Fail unless the heads' average gives a and b equal weights in each sample."""
        for answer, keys in self.samples_of("two_head_queries", arguments, samples):
            _, a, b = answer.arguments
            *heads, apart = self.both_heads(answer, keys)
            self.expect(
                apart >= APART,
                "two_head_queries returns the same query twice",
                id="two-head-queries.same-query",
                got=f"queries whose difference has norm {apart:.3g}",
                expected=f"a norm of {APART:g} or more",
                look_at=answer.look_at,
            )
            average = (heads[0] + heads[1]) / 2
            worst = int(np.abs(average[:, [a, b]] - 0.5).max(axis=1).argmax())
            first, second, both = (shown(rows[worst]) for rows in (*heads, average))
            self.expect(
                weights_are_right(average, [a, b]),
                f"the average of both heads' outputs is not the mean of values {a} and {b} for "
                "some keys near their means",
                id="two-head-queries.average",
                got=f"the weights {first} and {second}: {both} on average",
                expected=f"0.5 for each of the keys {[a, b]} on average, 0 for the others",
                look_at=answer.look_at,
            )


class AttentionSingleHead(AsksHeads):
    topic = "attention_single_head"

    @graded()
    def test_near_means(self) -> None:
        """single_head_query averages two values when keys are near their means."""
        self.expect_average("single_head_query", self.some_means(), samples=10)

    @graded()
    def test_lengths(self) -> None:
        """single_head_weights returns attention's weights for some scales and lengths."""
        self.expect_exact(WEIGHTS)

    @graded(is_hidden=True)
    def test_any_means(self) -> None:
        """single_head_query works for any means."""
        means = self.many_means(trials=20)
        self.judge(tried=self.samples_of("single_head_query", means, samples=20))

    @graded(is_hidden=True)
    def test_sampled_lengths(self) -> None:
        """single_head_weights is right for sampled keys and for extreme lengths."""
        self.judge(tried=self.stretched(30, limits=[-0.5, 0.5, 1.0, 1.5]))

    @graded()
    def test_steady(self) -> None:
        """steady_query averages two values whatever the length of k_a."""
        self.expect_average("steady_query", self.some_means(), samples=10, stretched=True)

    @graded(is_hidden=True)
    def test_steady_any(self) -> None:
        """steady_query works for any means."""
        means = self.many_means(trials=20)
        self.judge(tried=self.samples_of("steady_query", means, samples=20, stretched=True))


class AttentionTwoHeads(AsksHeads):
    topic = "attention_two_heads"

    @graded()
    def test_near_means(self) -> None:
        """two_head_queries averages two values when keys are near their means."""
        self.expect_average_of_heads(self.some_means(), samples=10)

    @graded(is_hidden=True)
    def test_any_means(self) -> None:
        """two_head_queries works for any means."""
        means = self.many_means(trials=20)
        self.judge(tried=self.samples_of("two_head_queries", means, samples=20))
