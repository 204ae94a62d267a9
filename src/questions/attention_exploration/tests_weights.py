"""Copying and averaging: queries and keys, judged by the weights that they give."""

from __future__ import annotations

import numpy as np

from grading.cases import graded
from questions.shared import random_inputs

from .calling import AsksAttention


class AttentionCopying(AsksAttention):
    topic = "attention_copying"

    @graded()
    def test_perpendicular(self) -> None:
        """copying_query puts all weight on one of several perpendicular keys."""
        keys = random_inputs.orthonormal_keys(self.rng, 3, 5)
        self.expect_weights("copying_query", [[np.eye(4), 2], [keys, 0]])

    @graded(is_hidden=True)
    def test_oblique(self) -> None:
        """copying_query works for any keys with cosines up to one half."""
        self.judge(tried=self.copying(trials=20))

    @graded()
    def test_given_query(self) -> None:
        """copying_keys puts all weight on one key, for a given query."""
        queries = [np.array([0.6, 0.0, 0.8]), np.array([0.03, -0.04])]
        self.expect_weights("copying_keys", [[queries[0], 4, 2], [queries[1], 3, 0]])

    @graded(is_hidden=True)
    def test_any_query(self) -> None:
        """copying_keys works for any query, short or long."""
        self.judge(tried=self.copying_backwards(trials=20))


class AttentionAveraging(AsksAttention):
    topic = "attention_averaging"

    @graded()
    def test_perpendicular(self) -> None:
        """average_query puts half of the weight on each of two keys."""
        keys = random_inputs.orthonormal_keys(self.rng, 5, 6)
        self.expect_weights("average_query", [[np.eye(4), 0, 2], [keys, 4, 1]])

    @graded(is_hidden=True)
    def test_oblique(self) -> None:
        """average_query also works for other keys."""
        self.judge(tried=self.averaging(trials=20))
