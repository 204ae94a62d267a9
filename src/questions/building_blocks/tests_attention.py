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
            id="scaled-dot-product-attention.weights",
            cause="scores are not divided by sqrt(d) = 8, or the softmax is not over the keys",
        )

    @graded()
    def test_masks(self) -> None:
        """A query looks where the mask is True, and gets zeros if the mask is nowhere True."""
        mask = np.array([[True, False, False], [True, True, False], [False, False, False]])
        arguments = [np.zeros((3, 4)), self.rng.normal(size=(3, 4)), np.eye(3), mask]
        (answer,) = self.ask("scaled_dot_product_attention", [arguments])
        self.expect_close(
            answer,
            [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]],
            "with equal scores, a query should average the values at which it may look, and get "
            "zeros if it may not look at any",
            id="scaled-dot-product-attention.mask",
            cause="the mask is True where a query may look, not where it may not",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """The output matches the equation for any shapes and masks."""
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
            id="split-heads.channels",
            cause="a view directly to (B, n_head, T, hs) mixes positions and channels; or n_head "
            "and C / n_head are swapped",
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
            id="merge-heads.channels",
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
            "prefix-lm": [[[1, 0, 0], [1, 1, 0], [1, 1, 0]], [[1, 1, 0], [1, 1, 0], [1, 1, 1]]],
        }
        arguments: list[list[Any]] = [
            [kind, 2 if kind == "encoder-decoder" else 3, 3, lengths] for kind in square
        ]
        arguments[-1].append(np.array([1, 2]))  # prefixes
        for answer in self.ask("attention_mask", arguments):
            kind = answer.arguments[0]
            self.expect_close(
                answer,
                np.array(square[kind]) == 1,
                f'attention_mask("{kind}", ...) lets a query look at the wrong keys',
                id="attention-mask.keys",
                cause="True means that a query may look; keys from lengths[b] on are padding; all "
                "queries may look at the prefix",
            )

    @graded()
    def test_memory(self) -> None:
        """cross_attention reads keys and values from the encoder, queries from the decoder."""
        H, one = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.eye(2)
        first_to_second = np.array([[0.0, 1.0], [0.0, 0.0]])
        along, between = self.ask(
            "cross_attention",
            [
                [np.array([[50.0, 0.0]]), H, one, one, 3 * one],
                [np.array([[0.0, np.log(3)]]), H, one, first_to_second, 5 * one],
            ],
        )
        self.expect_close(
            along,
            [[3.0, 0.0]],
            "a query that points along the first encoder output should get that output's value",
            id="cross-attention.value",
            cause="keys and values come from H, queries from Z; the softmax is over the keys",
        )
        self.expect_close(
            between,
            [[3.0, 1.0]],
            "with the scores ln 3, 0 and 0, the values should have the weights 3/5, 1/5 and 1/5",
            id="cross-attention.weights",
            cause="Q multiplies Z, and K multiplies H; the scores are not scaled",
        )

    @graded(is_hidden=True)
    def test_random_masks(self) -> None:
        """attention_mask is right for any lengths."""
        self.judge(answers=self.ask("attention_mask", expected.masks(self.rng)))

    @graded(is_hidden=True)
    def test_random_memory(self) -> None:
        """cross_attention is right for any T_z, T_h and matrices."""
        self.judge(answers=self.ask("cross_attention", expected.memories(self.rng)))


class BlocksLateMask(AsksBlocks):
    topic = "blocks_late_mask"

    @graded()
    def test_example(self) -> None:
        """masked_softmax gives each visible one of three equal scores the weight 1/2 or 1/3."""
        mask = np.array([[True, True, False]])
        wanted = {"before": [[1 / 2, 1 / 2, 0]], "after": [[1 / 3, 1 / 3, 0]]}
        asked = [[np.zeros((1, 3)), mask, when] for when in wanted]
        for answer in self.ask("masked_softmax", asked):
            when = answer.arguments[2]
            self.expect_close(
                answer,
                wanted[when],
                f'masked_softmax(..., "{when}") is wrong for three equal scores, the last one '
                "hidden",
                id="masked-softmax.equal-scores",
                cause='"before": hidden scores become -inf; "after": hidden weights become 0',
            )

    @graded()
    def test_hidden_scores(self) -> None:
        """With "before", weights do not depend on hidden scores; with "after", they do."""
        scores, mask = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 2.0]]), np.tri(2, 3, 1, dtype=bool)
        changed = scores + np.array([[0.0, 0.0, 6.0], [0.0, 0.0, 0.0]])
        kinds = ("before", "after")
        asked = [[given, mask, when] for when in kinds for given in (scores, changed)]
        answers = self.ask("masked_softmax", asked)
        for when, pair in zip(kinds, (answers[:2], answers[2:]), strict=True):
            first, second = (self.array(answer, (2, 3)) for answer in pair)
            differs = np.abs(first - second).max(axis=1) > 1e-4
            self.expect(
                differs.tolist() == [when == "after", False],
                f'when a hidden score changes, the weights of its query with "{when}" should '
                + ("change" if when == "after" else "stay the same"),
                id=f"masked-softmax.hidden-score-{when}",
                got=f"{first[0]} before the change, {second[0]} after it",
                look_at="masked_softmax in submission/building_blocks.py",
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """masked_softmax is right for any scores and masks."""
        self.judge(answers=self.ask("masked_softmax", expected.late_masks(self.rng)))
