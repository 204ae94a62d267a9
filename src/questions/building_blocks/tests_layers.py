"""The building blocks of layers: each function on examples that can be checked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import graded

from . import expected
from .calling import AsksBlocks

HALVES = "each layer z -> z/2 halves a gradient, and z -> z + z/2 multiplies it by 1.5"


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
                id="layer-norm.values",
                cause="the variance is divided by d, not by d - 1; each vector has its own mean",
            )

    @graded()
    def test_order(self) -> None:
        """block normalises before each part, or after each sum."""
        x, half, swap = np.array([[[3.0, 1.0]]]), {"times": np.eye(2) / 2}, np.eye(2)[::-1].copy()
        # Any (a, b) is normalised to (1, -1) or (-1, 1). Attention halves, the MLP swaps.
        wanted = {"pre": [[[2.5, 1.5]]], "post": [[[0, 0]]]}
        for answer in self.ask("block", [[x, half, {"times": swap}, norm] for norm in wanted]):
            norm = answer.arguments[3]
            self.expect_close(
                answer,
                np.array(wanted[norm], dtype=float),
                f'block is wrong for norm="{norm}", x = (3, 1), an attention that halves and an '
                "MLP that swaps the two channels",
                id="block.norm-order",
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


class BlocksResiduals(AsksBlocks):
    topic = "blocks_residuals"

    @graded()
    def test_halving(self) -> None:
        """gradient_at_input returns 2^-n or 1.5^n times the gradient for n layers that halve."""
        x, gradient = np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [2.0, -1.0]])
        wanted = {(1, True): 1.5, (4, False): 2.0**-4, (4, True): 1.5**4, (32, True): 1.5**32}
        half = {"times": np.eye(2) / 2}
        asked = [[x, [half] * n, gradient, residual] for n, residual in wanted]
        answers = self.ask("gradient_at_input", asked)
        for answer, ((n, residual), factor) in zip(answers, wanted.items(), strict=True):
            kind = "with" if residual else "without"
            layers = "1 layer that halves" if n == 1 else f"{n} layers that halve"
            words = f"{layers}, {kind} residual connections"
            self.expect_close(
                answer,
                factor * gradient,
                f"the gradient is wrong for {words}",
                id=f"gradient-at-input.{kind}-residuals",
                cause=HALVES,
            )

    @graded()
    def test_no_layer_does_anything(self) -> None:
        """If all weights are 0, residual connections leave the gradient unchanged."""
        gradient = np.array([[1.0, -2.0, 3.0]])
        nothing = [{"tanh_of": np.zeros((3, 3))}] * 5
        asked = [[np.ones((1, 3)), nothing, gradient, residual] for residual in (True, False)]
        for answer in self.ask("gradient_at_input", asked):
            residual = answer.arguments[3]
            self.expect_close(
                answer,
                gradient * residual,
                "for layers whose weights are all 0, the gradient should be "
                + ("unchanged: the residual connections remain" if residual else "0"),
                id="gradient-at-input.zero-weights-"
                + ("with-residuals" if residual else "without-residuals"),
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """gradient_at_input is right for any layers, input and gradient."""
        self.judge(answers=self.ask("gradient_at_input", expected.stacks(self.rng)))


class BlocksReceptiveField(AsksBlocks):
    topic = "blocks_receptive_field"

    @graded()
    def test_small(self) -> None:
        """receptive_field counts the positions that one head and two heads can reach."""
        asked = [[1, 1], [1, 3], [2, 2]]
        for answer, wanted in zip(self.ask("receptive_field", asked), (2, 8, 9), strict=True):
            self.expect_close(
                answer,
                wanted,
                f"receptive_field{tuple(answer.arguments)} is wrong",
                id="receptive-field.count",
                cause="at each level a position sees itself and the targets of its heads",
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
        """looks_back reaches as many positions as possible, for any numbers."""
        self.judge(sizes=[(1, 5), (3, 3), (int(self.rng.integers(4, 8)), 2), (2, 4)])

    def expect_reached(self, heads: int, levels: int) -> None:
        """Fail unless looks_back is right, according to a simulation.

        The simulation tracks the positions on which an output depends.
        """
        answers = self.ask("looks_back", [[heads, level] for level in range(levels)])
        distances = [self.array(answer, (heads,), "i") for answer in answers]
        self.expect(
            all(bool((d >= 0).all()) for d in distances),
            "looks_back returns a negative distance, that is, a later position",
            id="looks-back.later-position",
            got=[d.tolist() for d in distances],
            look_at=answers[0].look_at,
        )
        reached = expected.reached(distances)
        self.expect(
            len(reached) == (heads + 1) ** levels,
            "with the distances of looks_back, an output depends on fewer positions than it could",
            id="looks-back.too-few-positions",
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
                id="attention-multiply-adds.count",
                cause="scores take queries * keys * k multiply-adds, and so do weighted sums",
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """attention_multiply_adds is right for any sizes."""
        sizes = [[int(n) for n in self.rng.integers(1, 5000, size=3)] for _ in range(4)]
        kinds = ("encoder", "encoder-decoder", "decoder")
        asked: list[list[Any]] = [[kind, *size] for kind in kinds for size in sizes]
        self.judge(answers=self.ask("attention_multiply_adds", asked))


class BlocksParameters(AsksBlocks):
    topic = "blocks_parameters"

    @graded()
    def test_small(self) -> None:
        """count_parameters is right for models that can be counted by hand."""
        tiny = {"vocab_size": 3, "block_size": 5, "n_layer": 1, "n_head": 1, "n_embd": 2}
        wanted = {100: tiny, 174: tiny | {"n_layer": 2}, 90: tiny | {"rope": True}}
        asked = [[{"config": fields}] for fields in wanted.values()]
        for answer, count in zip(self.ask("count_parameters", asked), wanted, strict=True):
            self.expect_close(
                answer,
                count,
                f"count_parameters is wrong for {answer.arguments[0]['config']}",
                id="count-parameters.count"
                + "-with-rope" * ("rope" in answer.arguments[0]["config"]),
                cause="each Linear in model.py except the head has a bias; a LayerNorm has a gain "
                "and a bias; with rope there is no position embedding",
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """count_parameters is right for any GPTConfig, even one of 175 billion parameters."""
        self.judge(answers=self.ask("count_parameters", expected.configs(self.rng)))
