"""The building blocks of attention: each function on examples that can be checked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grading.cases import graded

from . import expected
from .calling import AsksBlocks


class BlocksAttention(AsksBlocks):
    topic = "blocks_attention"

    @graded()
    def test_example(self) -> None:
        """scaled_dot_product_attention gives the lecture's weights, .88 and .12."""
        q, k = np.zeros((1, 64)), np.zeros((2, 64))
        q[0, 0], k[:, 0] = 16, [7, 6]  # scores of 112 and 96
        (answer,) = self.ask("scaled_dot_product_attention", [[q, k, np.eye(2), None]])
        weight = 1 / (1 + math.exp(-2))  # 14 - 12
        self.expect_close(
            answer,
            [[weight, 1 - weight]],
            "scores of 112 and 96 at d = 64 should give the weights .88 and .12",
            cause="scores are not divided by sqrt(d) = 8, or the softmax isn't over the keys",
        )

    @graded()
    def test_masks(self) -> None:
        """A query looks where the mask is True, and gets zeros where it may look nowhere."""
        mask = np.array([[True, False, False], [True, True, False], [False, False, False]])
        arguments = [np.zeros((3, 4)), self.rng.normal(size=(3, 4)), np.eye(3), mask]
        (answer,) = self.ask("scaled_dot_product_attention", [arguments])
        self.expect_close(
            answer,
            [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]],
            "with equal scores, a query should average the values that the mask shows it, and get "
            "zeros where it shows none",
            cause="the mask is True where a query may look, not where it may not",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """The output is that of the equation, for any shapes and masks."""
        self.judge(answers=self.ask("scaled_dot_product_attention", expected.attention(self.rng)))


class BlocksHeads(AsksBlocks):
    topic = "blocks_heads"

    @graded()
    def test_channels(self) -> None:
        """split_heads gives head 0 the first channels of every position."""
        x = np.arange(24.0).reshape(1, 3, 8)
        (answer,) = self.ask("split_heads", [[x, 4]])
        self.expect_close(
            answer,
            [[[[8 * t + 2 * h, 8 * t + 2 * h + 1] for t in range(3)] for h in range(4)]],
            "head h should hold channels 2h and 2h + 1 of each position, for C = 8 and 4 heads",
            cause="a view straight to (B, n_head, T, hs) mixes positions and channels; or n_head "
            "and C / n_head are exchanged",
        )

    @graded()
    def test_merged(self) -> None:
        """merge_heads puts the channels of the heads side by side."""
        x = np.arange(24.0).reshape(1, 4, 3, 2)
        (answer,) = self.ask("merge_heads", [[x]])
        self.expect_close(
            answer,
            [[[6 * h + 2 * t + c for h in range(4) for c in range(2)] for t in range(3)]],
            "position t should hold the channels of head 0, then those of head 1, and so on",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """Both are right for any sizes."""
        split, merge = expected.heads(self.rng)
        self.judge(split=self.ask("split_heads", split), merged=self.ask("merge_heads", merge))


class BlocksMasks(AsksBlocks):
    topic = "blocks_masks"

    @graded()
    def test_kinds(self) -> None:
        """attention_mask is right for each kind of attention, for a short sequence."""
        lengths = np.array([2, 3])
        square = {
            "encoder": [[[1, 1, 0]] * 3, [[1, 1, 1]] * 3],
            "decoder": [[[1, 0, 0], [1, 1, 0], [1, 1, 0]], [[1, 0, 0], [1, 1, 0], [1, 1, 1]]],
            "encoder-decoder": [[[1, 1, 0]] * 2, [[1, 1, 1]] * 2],
        }
        sizes = {"encoder": (3, 3), "decoder": (3, 3), "encoder-decoder": (2, 3)}
        arguments = [[kind, *sizes[kind], lengths] for kind in square]
        for answer in self.ask("attention_mask", arguments):
            kind = answer.arguments[0]
            self.expect_close(
                answer,
                np.array(square[kind]) == 1,
                f'attention_mask("{kind}", ...) lets a query look at the wrong keys',
                cause="True means: may look; keys from lengths[b] on are padding",
            )

    @graded()
    def test_memory(self) -> None:
        """cross_attention reads keys and values from the encoder, queries from the decoder."""
        H, one = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.eye(2)
        (answer,) = self.ask("cross_attention", [[np.array([[50.0, 0.0]]), H, one, one, 3 * one]])
        self.expect_close(
            answer,
            [[3.0, 0.0]],
            "a query along the first encoder output should get that output's value",
            cause="keys and values come from H, queries from Z; the softmax is over the keys",
        )

    @graded(is_hidden=True)
    def test_random_masks(self) -> None:
        """attention_mask is right for any lengths."""
        self.judge(answers=self.ask("attention_mask", expected.masks(self.rng)))

    @graded(is_hidden=True)
    def test_random_memory(self) -> None:
        """cross_attention is right for any T_z, T_h and matrices."""
        self.judge(answers=self.ask("cross_attention", expected.memories(self.rng)))


class BlocksLayers(AsksBlocks):
    topic = "blocks_layers"

    @graded()
    def test_normalised(self) -> None:
        """layer_norm gives every vector mean 0 and variance 1, then gain and bias."""
        x = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 10.0, 10.0]])
        plain = [[-1.3416, -0.4472, 0.4472, 1.3416], [-1, -1, 1, 1]]
        gain, bias = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 0.0, -1.0])
        with_both = np.array(plain) * gain + bias
        asked = [[x], [x, gain, bias]]
        for answer, wanted in zip(self.ask("layer_norm", asked), (plain, with_both), strict=True):
            self.expect_close(
                answer,
                wanted,
                "layer_norm is wrong for the vectors (1, 2, 3, 4) and (0, 0, 10, 10)",
                cause="the variance is divided by d, not by d - 1; each vector has its own mean",
            )

    @graded()
    def test_order(self) -> None:
        """block has its norms before the parts, or after the sums."""
        x, half, swap = np.array([[[3.0, 1.0]]]), {"times": np.eye(2) / 2}, np.eye(2)[::-1].copy()
        # The norm of any (a, b) is (1, -1) or (-1, 1). Attention halves, the MLP exchanges.
        wanted = {"pre": [[[2.5, 1.5]]], "post": [[[0, 0]]]}
        for answer in self.ask("block", [[x, half, {"times": swap}, norm] for norm in wanted]):
            norm = answer.arguments[3]
            self.expect_close(
                answer,
                np.array(wanted[norm], dtype=float),
                f'block is wrong for norm="{norm}", x = (3, 1), an attention that halves and an '
                "MLP that exchanges the two channels",
                cause='"pre": x + part(norm(x)); "post": norm(x + part(x)); attention comes first',
            )

    @graded(is_hidden=True)
    def test_random_norms(self) -> None:
        """layer_norm is right for any shape, gain, bias and eps."""
        self.judge(answers=self.ask("layer_norm", expected.norms(self.rng)))

    @graded(is_hidden=True)
    def test_random_blocks(self) -> None:
        """block is right for any attention and MLP."""
        self.judge(answers=self.ask("block", expected.layers(self.rng)))


class BlocksReceptiveField(AsksBlocks):
    topic = "blocks_receptive_field"

    @graded()
    def test_small(self) -> None:
        """receptive_field counts what one head and two heads can reach."""
        asked = [[1, 1], [1, 3], [2, 2]]
        for answer, wanted in zip(self.ask("receptive_field", asked), (2, 8, 9), strict=True):
            self.expect_close(
                answer,
                wanted,
                f"receptive_field{tuple(answer.arguments)} is wrong",
                cause="at each level a position sees itself and what its heads look at",
            )

    @graded()
    def test_reached(self) -> None:
        """looks_back reaches 9 positions with two heads and two levels."""
        self.expect_reached(2, 2)

    @graded(is_hidden=True)
    def test_any_count(self) -> None:
        """receptive_field is right for any numbers."""
        asked = [[int(n) for n in self.rng.integers(1, 9, size=2)] for _ in range(5)]
        self.judge(answers=self.ask("receptive_field", asked))

    @graded(is_hidden=True)
    def test_any_reach(self) -> None:
        """looks_back reaches as many positions as there can be, for any numbers."""
        self.judge(sizes=[(1, 5), (3, 3), (int(self.rng.integers(4, 8)), 2), (2, 4)])

    def expect_reached(self, heads: int, levels: int) -> None:
        """Fail unless receptive_field is right, as a simulation finds out.

        The simulation follows which positions an output depends on.
        """
        answers = self.ask("looks_back", [[heads, level] for level in range(levels)])
        distances = [self.array(answer, (heads,), "i") for answer in answers]
        self.expect(
            all(bool((d >= 0).all()) for d in distances),
            "looks_back gives a distance below 0, of a position that is still to come",
            got=[d.tolist() for d in distances],
            look_at=answers[0].look_at,
        )
        reached = expected.reached(distances)
        self.expect(
            len(reached) == (heads + 1) ** levels,
            "with the distances of looks_back, an output depends on fewer positions than it could",
            got=f"{len(reached)} positions for {heads} heads, {levels} levels",
            expected=(heads + 1) ** levels,
            cause="two ways of looking back arrive at the same position",
            look_at=answers[0].look_at,
        )


class BlocksCost(AsksBlocks):
    topic = "blocks_cost"

    @graded()
    def test_example(self) -> None:
        """attention_multiply_adds counts both products, for 3 and 5 positions."""
        wanted = {"encoder": 180, "encoder-decoder": 300, "decoder": 500}
        for answer in self.ask("attention_multiply_adds", [[kind, 3, 5, 10] for kind in wanted]):
            self.expect_close(
                answer,
                wanted[answer.arguments[0]],
                f'attention_multiply_adds("{answer.arguments[0]}", 3, 5, 10) is wrong',
                cause="scores take queries * keys * k, and weighted sums as many again",
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """attention_multiply_adds is right for any sizes."""
        sizes = [[int(n) for n in self.rng.integers(1, 5000, size=3)] for _ in range(4)]
        kinds = ("encoder", "encoder-decoder", "decoder")
        asked: list[list[Any]] = [[kind, *size] for kind in kinds for size in sizes]
        self.judge(answers=self.ask("attention_multiply_adds", asked))
