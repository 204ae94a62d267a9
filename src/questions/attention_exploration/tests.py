"""The attention exploration: queries, keys and matrices tried on attention."""

from __future__ import annotations

import numpy as np

from grading.cases import graded
from questions.shared import random_inputs

from .calling import AsksAttention
from .heads import AsksHeads
from .projections import AsksProjections


class AttentionCopying(AsksAttention):
    topic = "attention_copying"

    @graded()
    def test_perpendicular(self):
        """copying_query puts all weight on one of several perpendicular keys"""
        keys = random_inputs.orthonormal_keys(self.rng, 3, 5)
        self.expect_weights("copying_query", [[np.eye(4), 2], [keys, 0]])

    @graded(is_hidden=True)
    def test_oblique(self):
        """copying_query works for any keys with cosines up to one half"""
        self.judge(tried=self.copying(trials=20))

    @graded()
    def test_given_query(self):
        """copying_keys puts all weight on one key, for a query that is given"""
        queries = [np.array([0.6, 0.0, 0.8]), np.array([0.03, -0.04])]
        self.expect_weights("copying_keys", [[queries[0], 4, 2], [queries[1], 3, 0]])

    @graded(is_hidden=True)
    def test_any_query(self):
        """copying_keys works for any query, short or long"""
        self.judge(tried=self.copying_backwards(trials=20))


class AttentionAveraging(AsksAttention):
    topic = "attention_averaging"

    @graded()
    def test_perpendicular(self):
        """average_query puts half of the weight on each of two keys"""
        keys = random_inputs.orthonormal_keys(self.rng, 5, 6)
        self.expect_weights("average_query", [[np.eye(4), 0, 2], [keys, 4, 1]])

    @graded(is_hidden=True)
    def test_oblique(self):
        """average_query works for other keys, too"""
        self.judge(tried=self.averaging(trials=20))


class AttentionSingleHead(AsksHeads):
    topic = "attention_single_head"

    @graded()
    def test_near_means(self):
        """single_head_query averages two values when keys are near their means"""
        means = random_inputs.orthonormal_keys(self.rng, 5, 6)
        self.expect_average([[np.eye(4), 0, 2], [means, 4, 1]], samples=10)

    @graded()
    def test_lengths(self):
        """single_head_weights are attention's, for some scales and lengths"""
        lengths = [[1.0, 0.5, 4], [20.0, 0.9, 5], [20.0, 1.0, 2], [1000.0, 1.2, 3]]
        self.expect_exact(lengths)

    @graded(is_hidden=True)
    def test_any_means(self):
        """single_head_query works for any means"""
        self.judge(tried=self.near_means(self.many_means(trials=20), samples=20))

    @graded(is_hidden=True)
    def test_sampled_lengths(self):
        """single_head_weights are those of keys that were drawn, and right in the limit"""
        self.judge(tried=self.stretched(30, limits=[-0.5, 0.5, 1.0, 1.5]))


class AttentionTwoHeads(AsksHeads):
    topic = "attention_two_heads"

    @graded()
    def test_lengths(self):
        """two_head_queries average two values, however long one of the keys is"""
        means = random_inputs.orthonormal_keys(self.rng, 5, 6)
        self.expect_average_of_heads([[np.eye(4), 0, 2], [means, 4, 1]], [1.0, 0.5, 2.5])

    @graded(is_hidden=True)
    def test_spread(self):
        """The average of two heads stays near the middle, where a single head swings"""
        self.judge(tried=self.with_samples(trials=5, samples=1000))


class AttentionKeyQueryValue(AsksProjections):
    topic = "attention_key_query_value"

    @graded()
    def test_unprojected(self):
        """unprojected_output is what attention's c_2 tends to"""
        self.expect_limit("unprojected_output", [np.eye(4), *self.directions(1)])

    @graded()
    def test_added(self):
        """added_output is what c_2 tends to when ud or uc is added to x_2"""
        self.expect_limit("added_output", [np.eye(4), *self.directions(1)], 3, 2)

    @graded()
    def test_matrices(self):
        """key_query_value gives K, Q, V with which c_2 is ub and c_1 is ub - uc"""
        self.expect_projected([np.eye(4), np.eye(6)[1:5], *self.directions(1)], [5.0, 20.0, 8.0])

    @graded(is_hidden=True)
    def test_unprojected_any(self):
        """unprojected_output is right for any orthogonal vectors"""
        self.judge(tried=self.outputs("unprojected_output", self.directions(10)))

    @graded(is_hidden=True)
    def test_added_any(self):
        """added_output is right for any orthogonal vectors"""
        self.judge(tried=self.outputs("added_output", self.directions(10), 2, 3))

    @graded(is_hidden=True)
    def test_matrices_any(self):
        """key_query_value is right for any orthogonal vectors of length 5 or more"""
        betas = [5.0, *(float(b) for b in 5 * 20 ** self.rng.random(19))]
        self.judge(tried=self.matrices(self.directions(20), betas))
