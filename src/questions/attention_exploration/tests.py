"""Queries, keys and matrices, judged by the attention weights and outputs that they give."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from grading.cases import graded
from questions.shared.functions import Answer, FunctionCase

from . import attention_math
from .attention_math import attention_weights, weights_are_right

QUERY, VECTOR = "a query of shape (d,)", "a vector of shape (d,)"
RETURNS = {  # what each function returns
    "copying_query": QUERY,
    "copying_keys": "keys of shape (n, d)",
    "average_query": QUERY,
    "single_head_query": QUERY,
    "single_head_weights": "two numbers",
    "steady_query": QUERY,
    "two_head_queries": "two queries, each of shape (d,)",
    "unprojected_output": VECTOR,
    "added_output": VECTOR,
    "key_query_value": "three matrices, each of shape (d, d)",
}
NEARLY_PERPENDICULAR = 0.15  # the largest absolute cosine of two keys that average_query gets
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
NAMES = ("ua", "ub", "uc", "ud")
BETAS = (5.0, 10.0, 20.0)  # growing; at 5, weights differ from their limits by e^-25 = 1.4e-11
LIMIT = 1e-6  # of a vector, relative to beta; other sums of ua, ub, uc, ud are off by .5 or more
NEAR = 0.01  # of c_1 and c_2, relative to beta


class AttentionCase(FunctionCase):
    """Calls the functions of attention_exploration.py and checks what they return."""

    module, asks = "attention_exploration.py", "attention_exploration.call"
    parts = {"single_head_weights": 2, "two_head_queries": 2, "key_query_value": 3}

    def checked(self, answer: Answer, shape: tuple[int, ...]) -> list[np.ndarray]:
        """Return an answer's parts; fail unless they are finite numbers of this shape."""
        count = len(answer.parts)
        fits = all(
            isinstance(part, np.ndarray) and part.dtype.kind in "fi" and part.shape == shape
            for part in answer.parts
        )
        finite = fits and all(bool(np.isfinite(part).all()) for part in answer.parts)
        one = f"float64[{', '.join(map(str, shape))}]" if shape else "a number"
        answer.expect(
            finite,
            f"{answer.function} should return {RETURNS[answer.function]}, with finite numbers only",
            id=f"{answer.subject}.return",
            got=answer.form + (", with nan or infinity" if fits else ""),
            expected=one if count == 1 else f"{count} parts, each {one}",
        )
        return [part.astype(np.float64) for part in answer.parts]

    def expect_weights(self, tried: list[Answer]) -> None:
        """Fail unless each answer gives equal weights to the right keys, and none to others."""
        for answer in tried:
            if answer.function == "copying_keys":
                query, n, *places = answer.arguments
                (keys,) = self.checked(answer, (n, len(query)))
            else:
                keys, *places = answer.arguments
                (query,) = self.checked(answer, (keys.shape[1],))
            alpha = attention_weights(query, keys)
            self.expect_alpha(answer, alpha, places, self.for_some("inputs"))

    def expect_alpha(self, answer: Answer, alpha: np.ndarray, places: list[int], when: str) -> None:
        """Fail unless these weights of all keys are equal at the places, and none elsewhere."""
        which = f"each of the keys {places}" if len(places) > 1 else f"key {places[0]}"
        answer.expect(
            weights_are_right(alpha, places),
            f"the attention weights that result from {answer.function} are wrong{when}",
            id=f"{answer.subject}.weights" + self.for_some(),
            got=f"the weights {shown(alpha)} for {len(alpha)} keys",
            expected=f"{1 / len(places):g} for {which}, 0 for the others",
        )

    def for_some(self, inputs: str = "") -> str:
        """Return how the sentence of a hidden test ends, or the id of its failure."""
        if not self.spec.is_hidden:
            return ""
        return f" for some {inputs}" if inputs else "-for-some"

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Draw 20 numbers of keys n and of their dimensions d, n <= d."""
        for _ in range(20):
            d = int(self.rng.integers(2, 13))
            yield int(self.rng.integers(2, d + 1)), d

    def two_of(self, n: int) -> tuple[int, int]:
        """Draw two different places below n."""
        a, b = self.rng.choice(n, size=2, replace=False)
        return int(a), int(b)


class AttentionCopying(AttentionCase):
    topic = "attention_copying"

    @graded()
    def test_perpendicular(self) -> None:
        """copying_query puts all weight on one of several perpendicular keys."""
        keys = attention_math.orthonormal_keys(self.rng, 3, 5)
        self.expect_weights(self.ask("copying_query", [[np.eye(4), 2], [keys, 0]]))

    @graded(is_hidden=True)
    def test_oblique(self) -> None:
        """copying_query works for any keys with cosines up to one half."""
        arguments: list[list[Any]] = [
            [attention_math.oblique_keys(self.rng, n, d), int(self.rng.integers(n))]
            for n, d in self.sizes()
        ]
        self.judge(tried=self.ask("copying_query", arguments))

    @graded()
    def test_given_query(self) -> None:
        """copying_keys puts all weight on one key, for a given query."""
        queries = [np.array([0.6, 0.0, 0.8]), np.array([0.03, -0.04])]
        self.expect_weights(self.ask("copying_keys", [[queries[0], 4, 2], [queries[1], 3, 0]]))

    @graded(is_hidden=True)
    def test_any_query(self) -> None:
        """copying_keys works for any query, short or long."""
        arguments: list[list[Any]] = []
        for _ in range(20):
            query = self.rng.normal(size=int(self.rng.integers(2, 13)))
            query *= 10 ** self.rng.uniform(-2, 2) / np.linalg.norm(query)
            n = int(self.rng.integers(2, 16))
            arguments.append([query, n, int(self.rng.integers(n))])
        self.judge(tried=self.ask("copying_keys", arguments))


class AttentionAveraging(AttentionCase):
    topic = "attention_averaging"

    @graded()
    def test_perpendicular(self) -> None:
        """average_query puts half of the weight on each of two keys."""
        keys = attention_math.orthonormal_keys(self.rng, 5, 6)
        self.expect_weights(self.ask("average_query", [[np.eye(4), 0, 2], [keys, 4, 1]]))

    @graded(is_hidden=True)
    def test_oblique(self) -> None:
        """average_query also works for other keys."""
        arguments = [
            [attention_math.oblique_keys(self.rng, n, d, NEARLY_PERPENDICULAR), *self.two_of(n)]
            for n, d in self.sizes()
        ]
        self.judge(tried=self.ask("average_query", arguments))


class HeadsCase(AttentionCase):
    """Tries answers about one head and two heads on keys that are sampled around their means."""

    def samples_of(self, function: str) -> list[tuple[Answer, np.ndarray]]:
        """Return answers of a function of means, a and b, each with samples of the keys.

        A basic test tries a simple set of means and a random one, a hidden test 20 random ones.

        For steady_query, k_a is longer or shorter than its mean. With a query of length |q|, the
        scores of a and b differ by sqrt(2 alpha) |q| at one standard deviation. That is .0025 with
        alpha = 1e-14 and a scale of 5,000 for each of 12 means. A weight leaves .49 to .51 when
        they differ by .04, which is 16 standard deviations and has a probability below 1e-50 per
        sample.
        """
        draw = attention_math.orthonormal_keys
        arguments: list[list[Any]]
        if self.spec.is_hidden:
            samples = 20
            arguments = [[draw(self.rng, n, d), *self.two_of(n)] for n, d in self.sizes()]
        else:
            samples, arguments = 10, [[np.eye(4), 0, 2], [draw(self.rng, 5, 6), 4, 1]]
        answers = self.ask(function, arguments)
        is_steady = function == "steady_query"
        rows = [
            attention_math.draw_keys(self.rng, means, samples, a if is_steady else None)
            for means, a, _ in arguments
        ]
        return list(zip(answers, rows, strict=True))

    def expect_average(self, tried: list[tuple[Answer, np.ndarray]]) -> None:
        """Fail unless a function's query averages two values in each sample of the keys."""
        for answer, keys in tried:
            means, *places = answer.arguments
            (query,) = self.checked(answer, (keys.shape[-1],))
            for row, alpha in zip(keys, attention_weights(query, keys), strict=True):
                where = " near their means"
                if answer.function == "steady_query":
                    length = float(row[places[0]] @ means[places[0]])
                    where = f" when k_{places[0]} is {length:.3g} long"
                where = "" if self.spec.is_hidden else where
                self.expect_alpha(answer, alpha, places, f" for some keys{where}")

    def expect_average_of_heads(self, tried: list[tuple[Answer, np.ndarray]]) -> None:
        """Fail unless the heads' average gives a and b equal weights in each sample."""
        for answer, keys in tried:
            _, a, b = answer.arguments
            queries = self.checked(answer, (keys.shape[-1],))
            with np.errstate(all="ignore"):
                apart = float(np.linalg.norm(queries[0] - queries[1]))
            answer.expect(
                apart >= APART,
                "two_head_queries returns the same query twice" + self.for_some("means"),
                id="two-head-queries.same-query" + self.for_some(),
                got=f"queries whose difference has norm {apart:.3g}",
                expected=f"a norm of {APART:g} or more",
            )
            heads = np.stack([attention_weights(query, keys) for query in queries])
            average = heads.mean(axis=0)  # (samples, n)
            worst = int(np.abs(average[:, [a, b]] - 0.5).max(axis=1).argmax())
            first, second, both = (shown(rows[worst]) for rows in (*heads, average))
            which = f"values {a} and {b} for some keys near their means"
            answer.expect(
                weights_are_right(average, [a, b]),
                "the average of both heads' outputs is not the mean of "
                + ("the two values for some means" if self.spec.is_hidden else which),
                id="two-head-queries.average" + self.for_some(),
                got=f"the weights {first} and {second}: {both} on average",
                expected=f"0.5 for each of the keys {[a, b]} on average, 0 for the others",
            )


class AttentionSingleHead(HeadsCase):
    topic = "attention_single_head"

    @graded()
    def test_near_means(self) -> None:
        """single_head_query averages two values when keys are near their means."""
        self.expect_average(self.samples_of("single_head_query"))

    @graded()
    def test_lengths(self) -> None:
        """single_head_weights returns attention's weights for some scales and lengths."""
        answers = self.ask("single_head_weights", [arguments for arguments, _ in WEIGHTS])
        for answer, (_, alpha) in zip(answers, WEIGHTS, strict=True):
            got = np.stack(self.checked(answer, ()))
            scale, length, n = answer.arguments
            answer.expect(
                bool(np.abs(got - alpha[:2]).max() <= EXACT),
                "the weights that single_head_weights returns are not those of attention",
                id="single-head-weights.values",
                got=f"{got.tolist()} for scale = {scale:g}, length = {length:g}, n = {n}",
                expected=f"{alpha[:2]}; the weights of all keys, a and b first, are "
                f"{shown(np.array(alpha))}",
            )

    @graded(is_hidden=True)
    def test_any_means(self) -> None:
        """single_head_query works for any means."""
        self.judge(tried=self.samples_of("single_head_query"))

    @graded(is_hidden=True)
    def test_sampled_lengths(self) -> None:
        """single_head_weights is right for sampled keys and for extreme lengths."""
        # Each k_a has covariance alpha I + (1/2) mu_a mu_a^T. The function gets its part along mu_a
        # as the length; the noise, alpha = 1e-14, is unknown to it.
        arguments, drawn = [], []
        for _ in range(30):
            n = int(self.rng.integers(2, 13))
            means = attention_math.orthonormal_keys(self.rng, n, n + int(self.rng.integers(3)))
            scale = float(10 ** self.rng.uniform(-1, np.log10(5000)))
            (keys,) = attention_math.draw_keys(self.rng, means, 1, stretched=0)
            arguments.append([scale, float(keys[0] @ means[0]), n])
            drawn.append((means, keys))
        for length in (-0.5, 0.5, 1.0, 1.5):
            arguments.append([5000.0, length, 4])
            drawn.append((np.eye(4), attention_math.lengthened(np.eye(4), length)))
        answers = self.ask("single_head_weights", arguments)
        self.judge(tried=[(a, *keys) for a, keys in zip(answers, drawn, strict=True)])

    @graded()
    def test_steady(self) -> None:
        """steady_query averages two values whatever the length of k_a."""
        self.expect_average(self.samples_of("steady_query"))

    @graded(is_hidden=True)
    def test_steady_any(self) -> None:
        """steady_query works for any means."""
        self.judge(tried=self.samples_of("steady_query"))


class AttentionTwoHeads(HeadsCase):
    topic = "attention_two_heads"

    @graded()
    def test_near_means(self) -> None:
        """two_head_queries averages two values when keys are near their means."""
        self.expect_average_of_heads(self.samples_of("two_head_queries"))

    @graded(is_hidden=True)
    def test_any_means(self) -> None:
        """two_head_queries works for any means."""
        self.judge(tried=self.samples_of("two_head_queries"))


class AttentionKeyQueryValue(AttentionCase):
    topic = "attention_key_query_value"

    @graded()
    def test_unprojected(self) -> None:
        """unprojected_output returns the limit of attention's c_2."""
        directions = [np.eye(4), *self.directions(1)]
        self.expect_limits(self.outputs("unprojected_output", directions))

    @graded()
    def test_added(self) -> None:
        """added_output returns the limit of c_2 when ud or uc is added to x_2."""
        directions = [np.eye(4), *self.directions(1)]
        self.expect_limits(self.outputs("added_output", directions, 3, 2))

    @graded()
    def test_matrices(self) -> None:
        """key_query_value returns K, Q, V with which c_2 is ub and c_1 is ub - uc."""
        directions = [np.eye(4), np.eye(6)[1:5], *self.directions(1)]
        self.expect_projected(self.matrices(directions, [5.0, 20.0, 8.0]))

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

    def directions(self, trials: int) -> list[np.ndarray]:
        """Draw sets of four perpendicular vectors of norm 1, shape (4, d) each."""
        sizes = self.rng.integers(4, 13, size=trials)
        return [attention_math.orthonormal_keys(self.rng, 4, int(d)) for d in sizes]

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

    def expect_limits(self, tried: list[list[Answer]]) -> None:
        """Fail unless the answers at growing betas approach attention's c_2."""
        for answers in tried:
            distances = []
            for answer, beta in zip(answers, BETAS, strict=True):
                u, added = answer.arguments[:4], answer.arguments[4:]
                x, identity = attention_math.inputs(u, *added), np.eye(len(u[0]))
                c, _ = attention_math.self_attention(x, identity, identity, identity)
                (vector,) = self.checked(answer, u[0].shape)
                with np.errstate(all="ignore"):
                    distances.append(float(np.linalg.norm(vector - c[1]) / beta))
            directions = dict(zip(NAMES, u, strict=True))
            named = [n for n, v in directions.items() for m in added if np.array_equal(v, m)]
            what = "".join(f" when {name} is added to x_2" for name in named)
            which = "".join(f"-with-{name}" for name in named)
            weights = np.linalg.lstsq(x.T, vector, rcond=None)[0]
            answer.expect(
                max(distances) <= LIMIT,  # False for nan
                f"{answer.function} does not return the limit of attention's c_2"
                + (" as beta grows" if self.spec.is_hidden else what),
                id=f"{answer.subject}.limit" + (self.for_some() or which),
                got=f"{attention_math.in_terms_of(vector, directions)}, for which the best weights "
                f"on x_1, x_2, x_3 would be {shown(weights)}; attention's c_2 is "
                f"{', '.join(f'{d:.2g} beta' for d in distances)} away at beta = "
                f"{', '.join(f'{beta:g}' for beta in BETAS)}",
                expected="a distance that tends to 0 as beta grows",
            )

    def matrices(self, directions: list[np.ndarray], betas: list[float]) -> list[Answer]:
        """Return answers of key_query_value, one for each set and its beta."""
        pairs = zip(directions, betas, strict=True)
        return self.ask("key_query_value", [list(beta * u) for u, beta in pairs])

    def expect_projected(self, tried: list[Answer]) -> None:
        """Fail unless, with K, Q and V, c_2 is close to ub, and c_1 to ub - uc."""
        for answer in tried:
            _, ub, uc, _ = u = answer.arguments
            K, Q, V = self.checked(answer, (len(ub), len(ub)))
            c, alpha = attention_math.self_attention(attention_math.inputs(u), K, Q, V)
            named = dict(zip(NAMES, u, strict=True))
            for i, wanted, target in ((1, ub, "ub"), (0, ub - uc, "ub - uc")):
                with np.errstate(all="ignore"):
                    miss = np.linalg.norm(c[i] - wanted) / np.linalg.norm(ub)
                finite = bool(np.isfinite(c[i]).all())
                output = attention_math.in_terms_of(c[i], named) if finite else "not finite"
                answer.expect(
                    bool(miss <= NEAR),
                    f"with the K, Q and V of key_query_value, c_{i + 1} is not close to {target}"
                    + self.for_some("orthogonal vectors"),
                    id=f"key-query-value.c-{i + 1}" + self.for_some(),
                    got=f"c_{i + 1} is {output}; the weights of x_{i + 1} on x_1, x_2, x_3 are "
                    f"{shown(alpha[i])}",
                    expected=f"c_{i + 1} is {target}, within {NEAR:g} beta",
                )


def shown(numbers: np.ndarray) -> list:
    """Round numbers to three decimals for a message."""
    with np.errstate(all="ignore"):  # numbers near the limit of float64
        return (np.round(numbers, 3) + 0.0).tolist()  # + 0.0: no "-0.0"
