"""The building blocks of positions: each function on examples that can be checked by hand."""

from __future__ import annotations

import math

import numpy as np

from grading.cases import Answer, graded

from . import expected
from .calling import AsksPositions


class BlocksSinusoids(AsksPositions):
    topic = "blocks_sinusoids"

    @graded()
    def test_first_rows(self) -> None:
        """sinusoidal_positions starts with sin 0, cos 0, ... and sin 1, cos 1, ..."""
        (answer,) = self.ask("sinusoidal_positions", [[2, 4]])
        self.expect_close(
            answer,
            [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]],
            "the first two positions are wrong for d = 4, where omega is 1 and 1/100",
            id="sinusoidal-positions.first-rows",
            cause="sines and cosines alternate; omega_k = 10000^(-2k/d) with k = 0 .. d/2 - 1",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """sinusoidal_positions is right for any T and d."""
        sizes = [[int(self.rng.integers(2, 200)), 2 * int(self.rng.integers(1, 40))]]
        self.judge(answers=self.ask("sinusoidal_positions", [*sizes, [1, 2], [500, 14]]))


class BlocksOffsets(AsksPositions):
    topic = "blocks_offsets"

    @graded()
    def test_moves(self) -> None:
        """offset_matrix moves the encoding of each position by the offset."""
        self.judge_moves([[1, 2], [3, 4], [0, 6], [-2, 4]])

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """offset_matrix is right for any offset and d."""
        offsets = [int(n) for n in self.rng.integers(-100, 100, size=6)]
        arguments = [[offset, 2 * int(self.rng.integers(1, 20))] for offset in offsets]
        self.judge(arguments=arguments)

    def judge_moves(self, arguments: list[list[int]]) -> None:
        """Fail unless M p(t) = p(t + offset) for positions up to 300."""
        for answer in self.ask("offset_matrix", arguments):
            offset, d = answer.arguments
            M, t = self.array(answer, (d, d)), np.arange(100, 300)
            with np.errstate(all="ignore"):  # numbers may be near the limit of float64
                moved = expected.encodings(t, d) @ M.T
                wrong = ~(np.abs(moved - expected.encodings(t + offset, d)) <= 1e-3)
            self.expect(
                not wrong.any(),
                "M p(t) is not p(t + offset)",
                id="offset-matrix.product",
                got=f"a difference in channel {int(np.argmax(wrong.any(axis=0)))}"
                f" for offset {offset}, d = {d}",
                cause="each pair (sin, cos) is rotated by omega_k * offset: mind the sign, and "
                "that p(t) is a column",
                look_at=answer.look_at,
            )


class BlocksAddOrConcatenate(AsksPositions):
    topic = "blocks_add_or_concatenate"

    @graded()
    def test_terms(self) -> None:
        """position_scores has four terms for "add" and two for "concatenate"."""
        x, p = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 3.0], [4.0, 0.0]])
        wanted = {"add": [[10, 10], [10, 20]], "concatenate": [[10, 0], [0, 20]]}
        for answer in self.ask("position_scores", [[x, p, how] for how in wanted]):
            how = answer.arguments[2]
            self.expect_close(
                answer,
                np.array(wanted[how], dtype=float),
                f'position_scores is wrong for "{how}", x = {x.tolist()} and p = {p.tolist()}',
                id="position-scores.values",
                cause="the score of i and j is z_i . z_j",
            )

    @graded()
    def test_bias(self) -> None:
        """x_i . x_j + relative_bias is the score that concatenation gives."""
        x, p = self.rng.normal(size=(2, 4, 3))
        (answer,) = self.ask("relative_bias", [[p]])
        both = np.concatenate([x, p], axis=1)
        self.expect_close(
            answer,
            both @ both.T - x @ x.T,
            "x_i . x_j + relative_bias(p) is not the score that concatenation gives",
            id="relative-bias.values",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """Both are right for any embeddings."""
        scores, biases = expected.embeddings(self.rng)
        self.judge(
            scores=self.ask("position_scores", scores), biases=self.ask("relative_bias", biases)
        )


class BlocksRelativeBias(AsksPositions):
    topic = "blocks_relative_bias"

    @graded()
    def test_count(self) -> None:
        """relative_bias_parameters counts the distances of 4 positions."""
        asked = [[4, 1], [4, 3], [4, 3, 2], [4, 3, 0], [1, 5]]
        for answer, wanted in zip(
            self.ask("relative_bias_parameters", asked), (7, 21, 15, 3, 5), strict=True
        ):
            self.expect_close(
                answer,
                wanted,
                f"relative_bias_parameters{tuple(answer.arguments)} is wrong",
                id="relative-bias-parameters.count",
                cause="4 positions are -3 .. 3 apart, 7 distances; each head has its own biases",
            )

    @graded()
    def test_places(self) -> None:
        """relative_bias_matrix contains the bias of j - i."""
        (answer,) = self.ask("relative_bias_matrix", [[np.array([[10.0, 20.0, 30.0]]), 3]])
        self.expect_close(
            answer,
            [[[20, 30, 30], [10, 20, 30], [10, 10, 20]]],
            "relative_bias_matrix is wrong for three biases and three positions",
            id="relative-bias-matrix.places",
            cause="row i, column j has the bias of j - i; distances longer than k have that of k",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """Both are right for any sizes."""
        counts, matrices = expected.relative_biases(self.rng)
        self.judge(
            counts=self.ask("relative_bias_parameters", counts),
            matrices=self.ask("relative_bias_matrix", matrices),
        )


class BlocksBuckets(AsksPositions):
    topic = "blocks_buckets"

    @graded()
    def test_t5(self) -> None:
        """relative_buckets returns T5's buckets for some distances."""
        wanted = {
            False: {0: 0, -1: 1, -7: 7, -9: 8, -11: 8, -12: 9, -15: 9, -17: 10, -100: 15, -999: 15}
            | {1: 17, 7: 23, 11: 24, 12: 25, 100: 31, 999: 31},
            True: {
                0: 0,
                -1: 1,
                -15: 15,
                -17: 16,
                -18: 16,
                -19: 17,
                -100: 30,
                -999: 31,
                1: 0,
                50: 0,
            },
        }
        asked = [[np.array(list(pairs)), 32, 128, causal] for causal, pairs in wanted.items()]
        answers = self.ask("relative_buckets", asked)
        for answer, pairs in zip(answers, wanted.values(), strict=True):
            self.expect_buckets(answer, np.array(list(pairs.values())), 0)

    @graded()
    def test_order(self) -> None:
        """Buckets never decrease with distance, and all buckets of a direction are used."""
        wanted = {False: 16, True: 32}
        asked = [[-np.arange(300), 32, 128, causal] for causal in wanted]
        for answer in self.ask("relative_buckets", asked):
            causal = answer.arguments[3]
            per_direction = wanted[causal]
            got = self.array(answer, (300,), "i")
            steps = np.diff(got)
            self.expect(
                bool((steps >= 0).all()) and set(got.tolist()) == set(range(per_direction)),
                f"keys 0 to 299 positions before the query should get all buckets from 0 to "
                f"{per_direction - 1} in this order (causal = {causal})",
                id="relative-buckets.order",
                got=sorted(set(got.tolist())),
                look_at=answer.look_at,
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """relative_buckets is right for any distances, n_buckets and max_distance."""
        self.judge(answers=self.ask("relative_buckets", expected.distances(self.rng)))

    def expect_buckets(self, answer: Answer, right: np.ndarray, slack: np.ndarray | int) -> None:
        """Fail unless an answer has the right buckets, or buckets that are lower by the slack."""
        got = self.array(answer, right.shape, "i")
        wrong = (got != right) & (got != right - slack)
        first = int(np.argmax(wrong))
        given, n_buckets, reach, causal = answer.arguments
        self.expect(
            not wrong.any(),
            "relative_buckets gives a distance the wrong bucket",
            id="relative-buckets.bucket",
            got=f"{got[first]} for j - i = {given[first]}, {n_buckets} buckets up to {reach}, "
            f"causal = {causal}",
            expected=int(right[first]),
            cause="unless causal, keys after the query have the upper half of the buckets; the "
            "second half of each direction's buckets is logarithmic",
            look_at=answer.look_at,
        )


class BlocksRotation(AsksPositions):
    topic = "blocks_rotation"

    @graded()
    def test_plane(self) -> None:
        """rotate takes (1, 0) at position i to (cos i, sin i)."""
        x, positions = np.tile([1.0, 0.0], (4, 1)), np.array([0, 1, 2, 7])
        wanted = np.stack([np.cos(positions), np.sin(positions)], axis=1)
        for answer in self.ask("rotate", [[x, positions, "adjacent"], [x, positions, "half"]]):
            self.expect_close(
                answer,
                wanted,
                "in two dimensions, (1, 0) at position i should become (cos i, sin i)",
                id="rotate.plane",
                cause="theta_0 is 1, and positive angles are anticlockwise",
            )
        pairs = np.array([1.0, 0.0])
        cos, sin = np.cos([1, 0.01]), np.sin([1, 0.01])
        given = {"adjacent": np.tile(pairs, 2), "half": np.repeat(pairs, 2)}
        turned = {
            "adjacent": np.stack([cos, sin], axis=1).ravel(),
            "half": np.concatenate([cos, sin]),
        }
        asked = [[x[None], np.array([1]), pairing] for pairing, x in given.items()]
        for answer in self.ask("rotate", asked):
            pairing = answer.arguments[2]
            self.expect_close(
                answer,
                turned[pairing][None],
                f'in four dimensions, with pairing "{pairing}", two pairs (1, 0) at position 1 '
                "should become (cos 1, sin 1) and (cos .01, sin .01)",
                id="rotate.pairs",
                cause="the channels of the other pairing are used, or theta_k lacks the 2 in -2k/d",
            )

    @graded()
    def test_relative(self) -> None:
        """Scores of rotated vectors depend only on their distance, and lengths do not change."""
        x = np.tile(self.rng.normal(size=6), (8, 1))
        asked = [[x, np.arange(8), pairing] for pairing in ("adjacent", "half")]
        for answer in self.ask("rotate", asked):
            pairing = answer.arguments[2]
            rotated = self.array(answer, x.shape)
            scores = expected.products(rotated)
            # <f(x, i), f(x, j)> is the same along each diagonal; the first is the length squared.
            same = all(np.ptp(np.diagonal(scores, n)) <= 1e-4 for n in range(8))
            self.expect(
                same and abs(scores[0, 0] - x[0] @ x[0]) <= 1e-4,
                f'with pairing "{pairing}", scores of one vector at positions i and j should '
                "depend only on i - j, and lengths should not change",
                id="rotate.distances",
                cause="sine and cosine of different angles in one pair, or a pair of the wrong "
                "channels",
                look_at=answer.look_at,
            )
            # The probability that all of x is near 0 is far below 1e-6.
            self.expect(
                bool((np.abs(rotated - x)[1:].max(axis=1) > 1e-4).all()),
                f'with pairing "{pairing}", vectors at positions after 0 are returned unchanged',
                id="rotate.unchanged",
                look_at=answer.look_at,
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """rotate is right for both pairings, any shape and any positions."""
        self.judge(answers=self.ask("rotate", expected.rotations(self.rng)))
