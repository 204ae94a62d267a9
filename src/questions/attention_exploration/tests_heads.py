"""One head and two, on keys that are drawn around their means."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import graded
from questions.shared import random_inputs

from . import attention_math
from .attention_math import attention_weights, weights_are_right
from .calling import Answer, AsksAttention, shown

# Weights are asked for exactly. Scores reach 5,000 * 4, whose rounding of 2e-12 moves weights by
# as much; a formula that leaves out a term or overflows is off by far more.
EXACT = 1e-9


class AsksHeads(AsksAttention):
    """Tries answers about one head and two on keys that are drawn around their means."""

    def many_means(self, trials: int) -> list[list[Any]]:
        """Draw arguments of single_head_query and two_head_queries: means, a, b."""
        arguments = []
        for _ in range(trials):
            d = int(self.rng.integers(2, 13))
            n = int(self.rng.integers(2, d + 1))
            arguments.append([random_inputs.orthonormal_keys(self.rng, n, d), *self.two_of(n)])
        return arguments

    def near_means(
        self, arguments: list[list[Any]], samples: int
    ) -> list[tuple[Answer, np.ndarray]]:
        """Return answers of single_head_query, each with samples of the keys.

        With a query of length |q|, the scores of a and b differ by sqrt(2 alpha) |q| at one
        standard deviation. That is .0025 with alpha = 1e-14 and a scale of 5,000 for each of 12
        means, and a weight leaves .49 to .51 when they differ by .04: at 16 standard deviations,
        with probability below 1e-50 a sample.
        """
        answers = self.ask("single_head_query", arguments)
        rows = (attention_math.draw_keys(self.rng, means, samples) for means, *_ in arguments)
        return list(zip(answers, rows, strict=True))

    def sampled_weights(self, answer: Answer, keys: np.ndarray) -> np.ndarray:
        """Compute attention's weights for a query and each sample of keys, shape (samples, n)."""
        (query,) = self.checked(answer, (keys.shape[-1],))
        return attention_weights(query, keys)

    def expect_average(self, arguments: list[list[Any]], samples: int) -> None:
        """Fail unless single_head_query's query averages two values in each sample of the keys."""
        for answer, keys in self.near_means(arguments, samples):
            _, *places = answer.arguments
            for alpha in self.sampled_weights(answer, keys):
                self.expect(
                    weights_are_right(alpha, places),
                    "the query of single_head_query gives other weights for some keys near "
                    "their means",
                    got=f"weights {shown(alpha)} for {len(alpha)} keys",
                    expected=f"0.5 for each of {places}, 0 for the others",
                    cause="the query is too short (scale it up), or points elsewhere",
                    look_at=answer.look_at,
                )

    def exact_weights(self, scale: float, length: float, n: int) -> np.ndarray:
        """Compute what single_head_weights should return: attention's weights for those keys."""
        means = np.eye(n)
        keys = attention_math.lengthened(means, 0, length)
        return attention_weights(scale * (means[0] + means[1]), keys)

    def expect_exact(self, arguments: list[list[Any]]) -> None:
        """Fail unless single_head_weights returns attention's weights of a and b."""
        for answer in self.ask("single_head_weights", arguments):
            got = np.stack(self.checked(answer, ()))
            scale, length, n = answer.arguments
            wanted = self.exact_weights(scale, length, n)
            self.expect(
                bool(np.abs(got - wanted[:2]).max() <= EXACT),
                "single_head_weights returns other weights than attention",
                got=f"{got.tolist()} for scale {scale:g}, length {length:g}, n = {n}",
                expected=f"{wanted[:2].tolist()}; attention's weights, those of a and b first, "
                f"are {shown(wanted)}",
                look_at=answer.look_at,
            )

    def stretched(self, trials: int, limits: list[float]) -> list[tuple[Answer, np.ndarray]]:
        """Return answers of single_head_weights about drawn keys, and attention's weights for them.

        Each k_a has covariance alpha I + (1/2) mu_a mu_a^T, and its part along mu_a is the length
        that the function is told; alpha = 1e-14 is what it isn't told.

        Args:
            limits: lengths that are asked for as they are, too, at a scale of 5,000.
        """
        arguments, weights = [], []
        for _ in range(trials):
            n = int(self.rng.integers(2, 13))
            means = random_inputs.orthonormal_keys(self.rng, n, n + int(self.rng.integers(3)))
            scale = float(10 ** self.rng.uniform(-1, np.log10(5000)))
            (keys,) = attention_math.draw_keys(self.rng, means, 1, stretched=0)
            arguments.append([scale, float(keys[0] @ means[0]), n])
            weights.append(attention_weights(scale * (means[0] + means[1]), keys))
        for length in limits:
            arguments.append([5000.0, length, 4])
            weights.append(self.exact_weights(5000.0, length, 4))
        return list(zip(self.ask("single_head_weights", arguments), weights, strict=True))

    def both_heads(self, answer: Answer, keys: np.ndarray) -> list[np.ndarray]:
        """Compute attention's weights of each head, shape (..., n), for keys (..., n, d)."""
        queries = self.checked(answer, (keys.shape[-1],))
        return [attention_weights(query, keys) for query in queries]

    def expect_average_of_heads(self, arguments: list[list[Any]], lengths: list[float]) -> None:
        """Fail unless both heads' average has equal weights of a and b, for each length of k_a."""
        for answer in self.ask("two_head_queries", arguments):
            means, a, b = answer.arguments
            for length in lengths:
                heads = self.both_heads(answer, attention_math.lengthened(means, a, length))
                average = (heads[0] + heads[1]) / 2
                self.expect(
                    weights_are_right(average, [a, b]),
                    f"the average of both heads is not that of values {a} and {b} when k_{a} is "
                    f"{length:g} mu_{a}",
                    got=f"weights {shown(heads[0])} and {shown(heads[1])}: {shown(average)} on "
                    "average",
                    expected=f"0.5 for each of {[a, b]} on average, 0 for the others",
                    look_at=answer.look_at,
                )

    def with_samples(self, trials: int, samples: int) -> list[tuple[Answer, np.ndarray]]:
        """Return answers of two_head_queries, each with samples of keys with a stretched k_a.

        Those in which k_a points away from mu_a (7.9 %, as a normal with mean 1 and variance 1/2
        is negative) are dropped.
        """
        several = [
            random_inputs.orthonormal_keys(self.rng, 6, 7),
            4,
            2,
        ]  # two keys alone tell little
        arguments = [several, *self.many_means(trials - 1)]
        answers = self.ask("two_head_queries", arguments)
        pairs = []
        for answer in answers:
            means, a, _ = answer.arguments
            keys = attention_math.draw_keys(self.rng, means, samples, stretched=a)
            pairs.append((answer, keys[keys[:, a] @ means[a] > 0]))
        return pairs


class AttentionSingleHead(AsksHeads):
    topic = "attention_single_head"

    @graded()
    def test_near_means(self) -> None:
        """single_head_query averages two values when keys are near their means."""
        means = random_inputs.orthonormal_keys(self.rng, 5, 6)
        self.expect_average([[np.eye(4), 0, 2], [means, 4, 1]], samples=10)

    @graded()
    def test_lengths(self) -> None:
        """single_head_weights are attention's, for some scales and lengths."""
        lengths = [[1.0, 0.5, 4], [20.0, 0.9, 5], [20.0, 1.0, 2], [1000.0, 1.2, 3]]
        self.expect_exact(lengths)

    @graded(is_hidden=True)
    def test_any_means(self) -> None:
        """single_head_query works for any means."""
        self.judge(tried=self.near_means(self.many_means(trials=20), samples=20))

    @graded(is_hidden=True)
    def test_sampled_lengths(self) -> None:
        """single_head_weights are those of keys that were drawn, and right in the limit."""
        self.judge(tried=self.stretched(30, limits=[-0.5, 0.5, 1.0, 1.5]))


class AttentionTwoHeads(AsksHeads):
    topic = "attention_two_heads"

    @graded()
    def test_lengths(self) -> None:
        """two_head_queries average two values, however long one of the keys is."""
        means = random_inputs.orthonormal_keys(self.rng, 5, 6)
        self.expect_average_of_heads([[np.eye(4), 0, 2], [means, 4, 1]], [1.0, 0.5, 2.5])

    @graded(is_hidden=True)
    def test_spread(self) -> None:
        """The average of two heads stays near the middle, where a single head swings."""
        self.judge(tried=self.with_samples(trials=5, samples=1000))
