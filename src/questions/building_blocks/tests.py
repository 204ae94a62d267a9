"""The building blocks: each function on examples that can be checked by hand."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from grading.cases import graded
from questions.shared.functions import Answer, FunctionCase

from . import samples

# Correct code differs by 1e-12 in float64. Frequencies computed in float32 have a relative error of
# 3e-7, which puts angles of 300 off by 9e-5, and rotated vectors of length 6 by 6e-4. Mistakes move
# results by .01 or more.
CLOSE = 2e-3
KINDS = {"f": "numbers", "i": "integers", "b": "booleans"}


class BlocksCase(FunctionCase):
    """Calls the functions of the building blocks, and checks the form of their answers."""

    module, asks = "building_blocks.py", "building_blocks.call"
    parts = {"span_corruption": 2, "bert_mask": 2}
    columns = {"changed": bool}

    def ask(
        self, function: str, arguments: list[list[Any]], of: Callable[..., Any] | None = None
    ) -> list[Answer]:
        """Return the function's answers; fail if it modifies its arguments."""
        answers = super().ask(function, arguments, of)
        for answer in answers:
            answer.expect(
                not answer.changed,
                f"{function} modifies its arguments, which the caller still needs",
                id=f"{answer.subject}.modified-arguments",
                cause="an in-place operation, such as x += y, masked_fill_ or x[i] = y",
            )
        return answers

    def right_answers(self, answers: list[Answer]) -> list[list[Any]]:
        """Return the reference's answers for the same arguments; only for staff's judges."""
        given = [answer.arguments for answer in answers]
        return [answer.parts for answer in self.ask(answers[0].function, given, self.reference)]

    def array(
        self, answer: Answer, shape: tuple[int, ...], kind: str = "f", part: int = 0
    ) -> np.ndarray:
        """Return a part of an answer; fail unless it is a finite array of this shape.

        Args:
            kind: "f", "i" or "b"; integers are accepted for "f", and 8.0 for a single "i".
        """
        got = answer.parts[part]
        fits = isinstance(got, np.ndarray) and got.shape == shape
        exact = kind == "b" or (kind == "i" and shape)
        fits = fits and got.dtype.kind in (kind if exact else "fi")
        answer.expect(
            fits,
            f"{answer.function} returns something of the wrong shape or kind",
            id=f"{answer.subject}.shape",
            got=answer.form,
            expected=_right_form(answer, shape, kind),
        )
        answer.expect(
            bool(np.isfinite(got).all()),
            f"{answer.function} returns nan or infinity",
            id=f"{answer.subject}.not-finite",
            got=answer.form,
            cause="a division by zero, a softmax of only -inf, or an overflow",
        )
        return got

    def expect_close(self, answer: Answer, wanted: Any, sentence: str, *, id: str) -> None:
        """Fail unless an answer is an array of these values, exact if boolean or integer."""
        wanted = np.asarray(wanted)
        kind = wanted.dtype.kind
        got = self.array(answer, wanted.shape, "f" if kind == "i" and wanted.shape else kind)
        if kind in "bi":
            wrong = got != wanted
        else:
            wrong = np.abs(got - wanted) > CLOSE * np.maximum(1, np.abs(wanted))
        if not wrong.size:
            return
        first = tuple(map(int, np.unravel_index(np.argmax(wrong), np.shape(wrong))))
        answer.expect(
            not wrong.any(),
            sentence,
            id=id,
            got=_shown(got[first], kind) + (f" at {list(first)}" if first else ""),
            expected=_shown(wanted[first], kind),
        )

    def expect_each(
        self, function: str, examples: list[tuple[list[Any], Any]], sentence: str, *, id: str
    ) -> None:
        """Fail unless the function gives each list of arguments its answer.

        Args:
            examples: pairs of arguments and the right answer.
            sentence: in it, {0} stands for the first argument, {arguments} for all of them.
        """
        answers = self.ask(function, [arguments for arguments, _ in examples])
        for answer, (arguments, right) in zip(answers, examples, strict=True):
            shown = sentence.format(*arguments, arguments=tuple(arguments))
            self.expect_close(answer, right, shown, id=id)

    def words(self, answer: Answer, part: int) -> list[str]:
        """Return a part of an answer; fail unless it is a list of words."""
        got = answer.parts[part]
        answer.expect(
            isinstance(got, list),  # of str, as functions.PART has it
            f"{answer.function} should return two lists of words, the input and the target",
            id=f"{answer.subject}.not-two-lists",
            got=answer.form,
        )
        return got


class BlocksAttention(BlocksCase):
    topic = "blocks_attention"

    @graded()
    def test_example(self) -> None:
        """scaled_dot_product_attention gives the lecture's weights, .88 and .12."""
        q, k = np.zeros((1, 64)), np.zeros((2, 64))
        q[0, 0], k[:, 0] = 16, [7, 6]  # scores of 112 and 96
        weight = 1 / (1 + math.exp(-2))  # 14 - 12
        self.expect_each(
            "scaled_dot_product_attention",
            [([q, k, np.eye(2), None], [[weight, 1 - weight]])],
            "scores of 112 and 96 at d = 64 should give the weights .88 and .12",
            id="scaled-dot-product-attention.weights",
        )

    @graded()
    def test_masks(self) -> None:
        """A query looks where the mask is True, and gets zeros if the mask is nowhere True."""
        mask = np.array([[True, False, False], [True, True, False], [False, False, False]])
        arguments = [np.zeros((3, 4)), self.rng.normal(size=(3, 4)), np.eye(3), mask]
        self.expect_each(
            "scaled_dot_product_attention",
            [(arguments, [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]])],
            "with equal scores, a query should average the values at which it may look, and get "
            "zeros if it may not look at any",
            id="scaled-dot-product-attention.mask",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """The output matches the equation for any shapes and masks."""
        self.judge(answers=self.ask("scaled_dot_product_attention", samples.attention(self.rng)))


class BlocksHeads(BlocksCase):
    topic = "blocks_heads"

    @graded()
    def test_channels(self) -> None:
        """split_heads gives head 0 the first channels of every position."""
        x = np.arange(24.0).reshape(1, 3, 8)
        right = [[[[8 * t + 2 * h, 8 * t + 2 * h + 1] for t in range(3)] for h in range(4)]]
        self.expect_each(
            "split_heads",
            [([x, 4], right)],
            "head h should hold channels 2h and 2h + 1 of each position, for C = 8 and 4 heads",
            id="split-heads.channels",
        )

    @graded()
    def test_merged(self) -> None:
        """merge_heads puts the channels of the heads side by side."""
        x = np.arange(24.0).reshape(1, 4, 3, 2)
        self.expect_each(
            "merge_heads",
            [([x], [[[6 * h + 2 * t + c for h in range(4) for c in range(2)] for t in range(3)]])],
            "position t should hold the channels of head 0, then those of head 1, and so on",
            id="merge-heads.channels",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """Both are right for any sizes."""
        split, merge = samples.heads(self.rng)
        self.judge(split=self.ask("split_heads", split), merged=self.ask("merge_heads", merge))


class BlocksMasks(BlocksCase):
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
        self.expect_each(
            "attention_mask",
            [(asked, np.array(square[asked[0]]) == 1) for asked in arguments],
            'attention_mask("{0}", ...) lets a query look at the wrong keys',
            id="attention-mask.keys",
        )

    @graded()
    def test_memory(self) -> None:
        """cross_attention reads keys and values from the encoder, queries from the decoder."""
        H, one = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.eye(2)
        first_to_second = np.array([[0.0, 1.0], [0.0, 0.0]])
        self.expect_each(
            "cross_attention",
            [([np.array([[50.0, 0.0]]), H, one, one, 3 * one], [[3.0, 0.0]])],
            "a query that points along the first encoder output should get that output's value",
            id="cross-attention.value",
        )
        self.expect_each(
            "cross_attention",
            [([np.array([[0.0, np.log(3)]]), H, one, first_to_second, 5 * one], [[3.0, 1.0]])],
            "with the scores ln 3, 0 and 0, the values should have the weights 3/5, 1/5 and 1/5",
            id="cross-attention.weights",
        )

    @graded(is_hidden=True)
    def test_random_masks(self) -> None:
        """attention_mask is right for any lengths."""
        self.judge(answers=self.ask("attention_mask", samples.masks(self.rng)))

    @graded(is_hidden=True)
    def test_random_memory(self) -> None:
        """cross_attention is right for any T_z, T_h and matrices."""
        self.judge(answers=self.ask("cross_attention", samples.memories(self.rng)))


class BlocksLateMask(BlocksCase):
    topic = "blocks_late_mask"

    @graded()
    def test_example(self) -> None:
        """masked_softmax gives each visible one of three equal scores the weight 1/2 or 1/3."""
        mask = np.array([[True, True, False]])
        wanted = {"before": [[1 / 2, 1 / 2, 0]], "after": [[1 / 3, 1 / 3, 0]]}
        self.expect_each(
            "masked_softmax",
            [([np.zeros((1, 3)), mask, when], right) for when, right in wanted.items()],
            'masked_softmax(..., "{2}") is wrong for three equal scores, the last one hidden',
            id="masked-softmax.equal-scores",
        )

    @graded()
    def test_hidden_scores(self) -> None:
        """With "before", weights do not depend on hidden scores; with "after", they do."""
        scores, mask = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 2.0]]), np.tri(2, 3, 1, dtype=bool)
        changed = scores + np.array([[0.0, 0.0, 6.0], [0.0, 0.0, 0.0]])
        for when in ("before", "after"):
            answers = self.ask("masked_softmax", [[scores, mask, when], [changed, mask, when]])
            first, second = (self.array(answer, (2, 3)) for answer in answers)
            differs = np.abs(first - second).max(axis=1) > 1e-4
            answers[0].expect(
                differs.tolist() == [when == "after", False],
                f'when a hidden score changes, the weights of its query with "{when}" should '
                + ("change" if when == "after" else "stay the same"),
                id=f"masked-softmax.hidden-score-{when}",
                got=f"{first[0]} before the change, {second[0]} after it",
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """masked_softmax is right for any scores and masks."""
        self.judge(answers=self.ask("masked_softmax", samples.late_masks(self.rng)))


class BlocksLayers(BlocksCase):
    topic = "blocks_layers"

    @graded()
    def test_normalised(self) -> None:
        """layer_norm gives every vector mean 0 and variance 1, then gain and bias."""
        x = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 10.0, 10.0]])
        plain = [[-1.3416, -0.4472, 0.4472, 1.3416], [-1, -1, 1, 1]]
        gain, bias = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 0.0, -1.0])
        with_both = np.array(plain) * gain + bias
        self.expect_each(
            "layer_norm",
            [([x], plain), ([x, gain, bias], with_both)],
            "layer_norm is wrong for the vectors (1, 2, 3, 4) and (0, 0, 10, 10)",
            id="layer-norm.values",
        )

    @graded()
    def test_order(self) -> None:
        """block normalises before each part, or after each sum."""
        x, half, swap = np.array([[[3.0, 1.0]]]), {"times": np.eye(2) / 2}, np.eye(2)[::-1].copy()
        # Any (a, b) is normalised to (1, -1) or (-1, 1). Attention halves, the MLP swaps.
        wanted = {"pre": [[[2.5, 1.5]]], "post": [[[0.0, 0.0]]]}
        self.expect_each(
            "block",
            [([x, half, {"times": swap}, norm], right) for norm, right in wanted.items()],
            'block is wrong for norm="{3}", x = (3, 1), an attention that halves and an MLP that '
            "swaps the two channels",
            id="block.norm-order",
        )

    @graded(is_hidden=True)
    def test_random_norms(self) -> None:
        """layer_norm is right for any shape, gain, bias and eps."""
        self.judge(answers=self.ask("layer_norm", samples.norms(self.rng)))

    @graded(is_hidden=True)
    def test_random_blocks(self) -> None:
        """block is right for any attention and MLP."""
        self.judge(answers=self.ask("block", samples.layers(self.rng)))


class BlocksResiduals(BlocksCase):
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
            sentence = f"the gradient is wrong for {layers}, {kind} residual connections"
            id = f"gradient-at-input.{kind}-residuals"
            self.expect_close(answer, factor * gradient, sentence, id=id)

    @graded()
    def test_no_layer_does_anything(self) -> None:
        """If all weights are 0, residual connections leave the gradient unchanged."""
        gradient = np.array([[1.0, -2.0, 3.0]])
        nothing = [{"tanh_of": np.zeros((3, 3))}] * 5
        asked = [[np.ones((1, 3)), nothing, gradient, residual] for residual in (True, False)]
        for answer in self.ask("gradient_at_input", asked):
            residual = answer.arguments[3]
            right = "unchanged: the residual connections remain" if residual else "0"
            sentence = f"for layers whose weights are all 0, the gradient should be {right}"
            id = f"gradient-at-input.zero-weights-{'with' if residual else 'without'}-residuals"
            self.expect_close(answer, gradient * residual, sentence, id=id)

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """gradient_at_input is right for any layers, input and gradient."""
        self.judge(answers=self.ask("gradient_at_input", samples.stacks(self.rng)))


class BlocksReceptiveField(BlocksCase):
    topic = "blocks_receptive_field"

    @graded()
    def test_small(self) -> None:
        """receptive_field counts the positions that one head and two heads can reach."""
        self.expect_each(
            "receptive_field",
            [([1, 1], 2), ([1, 3], 8), ([2, 2], 9)],
            "receptive_field{arguments} is wrong",
            id="receptive-field.count",
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
        answers[0].expect(
            all(bool((d >= 0).all()) for d in distances),
            "looks_back returns a negative distance, that is, a later position",
            id="looks-back.later-position",
            got=[d.tolist() for d in distances],
        )
        reached = samples.reached(distances)
        answers[0].expect(
            len(reached) == (heads + 1) ** levels,
            "with the distances of looks_back, an output depends on fewer positions than it could",
            id="looks-back.too-few-positions",
            got=f"{len(reached)} positions for {heads} heads, {levels} levels",
            expected=(heads + 1) ** levels,
        )


class BlocksCost(BlocksCase):
    topic = "blocks_cost"

    @graded()
    def test_example(self) -> None:
        """attention_multiply_adds counts both products, for 3 and 5 positions."""
        wanted = {"encoder": 180, "encoder-decoder": 300, "decoder": 500}
        self.expect_each(
            "attention_multiply_adds",
            [([kind, 3, 5, 10], count) for kind, count in wanted.items()],
            'attention_multiply_adds("{0}", 3, 5, 10) is wrong',
            id="attention-multiply-adds.count",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """attention_multiply_adds is right for any sizes."""
        sizes = [[int(n) for n in self.rng.integers(1, 5000, size=3)] for _ in range(4)]
        kinds = ("encoder", "encoder-decoder", "decoder")
        asked: list[list[Any]] = [[kind, *size] for kind in kinds for size in sizes]
        self.judge(answers=self.ask("attention_multiply_adds", asked))


class BlocksParameters(BlocksCase):
    topic = "blocks_parameters"

    @graded()
    def test_small(self) -> None:
        """count_parameters is right for models that can be counted by hand."""
        tiny = {"vocab_size": 3, "block_size": 5, "n_layer": 1, "n_head": 1, "n_embd": 2}
        wanted = {100: tiny, 174: tiny | {"n_layer": 2}, 90: tiny | {"rope": True}}
        asked = [[{"config": fields}] for fields in wanted.values()]
        for answer, count in zip(self.ask("count_parameters", asked), wanted, strict=True):
            config = answer.arguments[0]["config"]
            id = "count-parameters.count" + "-with-rope" * ("rope" in config)
            self.expect_close(answer, count, f"count_parameters is wrong for {config}", id=id)

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """count_parameters is right for any GPTConfig, even one of 175 billion parameters."""
        self.judge(answers=self.ask("count_parameters", samples.configs(self.rng)))


class PositionsCase(BlocksCase):
    module = "building_blocks_positions.py"


class BlocksSinusoids(PositionsCase):
    topic = "blocks_sinusoids"

    @graded()
    def test_first_rows(self) -> None:
        """sinusoidal_positions starts with sin 0, cos 0, ... and sin 1, cos 1, ..."""
        right = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
        self.expect_each(
            "sinusoidal_positions",
            [([2, 4], right)],
            "the first two positions are wrong for d = 4, where omega is 1 and 1/100",
            id="sinusoidal-positions.first-rows",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """sinusoidal_positions is right for any T and d."""
        sizes = [[int(self.rng.integers(2, 200)), 2 * int(self.rng.integers(1, 40))]]
        self.judge(answers=self.ask("sinusoidal_positions", [*sizes, [1, 2], [500, 14]]))


class BlocksOffsets(PositionsCase):
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
                moved = samples.encodings(t, d) @ M.T
                wrong = ~(np.abs(moved - samples.encodings(t + offset, d)) <= 1e-3)
            answer.expect(
                not wrong.any(),
                "M p(t) is not p(t + offset)",
                id="offset-matrix.product",
                got=f"a difference in channel {int(np.argmax(wrong.any(axis=0)))}"
                f" for offset {offset}, d = {d}",
            )


class BlocksAddOrConcatenate(PositionsCase):
    topic = "blocks_add_or_concatenate"

    @graded()
    def test_terms(self) -> None:
        """position_scores has four terms for "add" and two for "concatenate"."""
        x, p = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 3.0], [4.0, 0.0]])
        wanted = {"add": [[10.0, 10], [10, 20]], "concatenate": [[10.0, 0], [0, 20]]}
        self.expect_each(
            "position_scores",
            [([x, p, how], right) for how, right in wanted.items()],
            f'position_scores is wrong for "{{2}}", x = {x.tolist()} and p = {p.tolist()}',
            id="position-scores.values",
        )

    @graded()
    def test_bias(self) -> None:
        """x_i . x_j + relative_bias is the score that concatenation gives."""
        x, p = self.rng.normal(size=(2, 4, 3))
        both = np.concatenate([x, p], axis=1)
        self.expect_each(
            "relative_bias",
            [([p], both @ both.T - x @ x.T)],
            "x_i . x_j + relative_bias(p) is not the score that concatenation gives",
            id="relative-bias.values",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """Both are right for any embeddings."""
        scores, biases = samples.embeddings(self.rng)
        self.judge(
            scores=self.ask("position_scores", scores), biases=self.ask("relative_bias", biases)
        )


class BlocksRelativeBias(PositionsCase):
    topic = "blocks_relative_bias"

    @graded()
    def test_count(self) -> None:
        """relative_bias_parameters counts the distances of 4 positions."""
        self.expect_each(
            "relative_bias_parameters",
            [([4, 1], 7), ([4, 3], 21), ([4, 3, 2], 15), ([4, 3, 0], 3), ([1, 5], 5)],
            "relative_bias_parameters{arguments} is wrong",
            id="relative-bias-parameters.count",
        )

    @graded()
    def test_places(self) -> None:
        """relative_bias_matrix contains the bias of j - i."""
        asked = [np.array([[10.0, 20.0, 30.0]]), 3]
        self.expect_each(
            "relative_bias_matrix",
            [(asked, [[[20, 30, 30], [10, 20, 30], [10, 10, 20]]])],
            "relative_bias_matrix is wrong for three biases and three positions",
            id="relative-bias-matrix.places",
        )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """Both are right for any sizes."""
        counts, matrices = samples.relative_biases(self.rng)
        self.judge(
            counts=self.ask("relative_bias_parameters", counts),
            matrices=self.ask("relative_bias_matrix", matrices),
        )


class BlocksBuckets(PositionsCase):
    topic = "blocks_buckets"

    @graded()
    def test_t5(self) -> None:
        """relative_buckets returns T5's buckets for some distances."""
        wanted = {
            False: {0: 0, -1: 1, -7: 7, -9: 8, -11: 8, -12: 9, -15: 9, -17: 10, -100: 15, -999: 15}
            | {1: 17, 7: 23, 11: 24, 12: 25, 100: 31, 999: 31},
            True: {0: 0, -1: 1, -15: 15, -17: 16, -18: 16, -19: 17, -100: 30, -999: 31}
            | {1: 0, 50: 0},
        }
        asked = [[np.array(list(pairs)), 32, 128, causal] for causal, pairs in wanted.items()]
        answers = self.ask("relative_buckets", asked)
        for answer, pairs in zip(answers, wanted.values(), strict=True):
            self.expect_buckets(answer, np.array(list(pairs.values())), 0)

    @graded()
    def test_order(self) -> None:
        """Buckets never decrease with distance, and all buckets of a direction are used."""
        asked = [[-np.arange(300), 32, 128, causal] for causal in (False, True)]
        for answer in self.ask("relative_buckets", asked):
            causal = answer.arguments[3]
            got, count = self.array(answer, (300,), "i"), 32 if causal else 16
            answer.expect(
                bool((np.diff(got) >= 0).all()) and set(got.tolist()) == set(range(count)),
                f"keys 0 to 299 positions before the query should get all buckets from 0 to "
                f"{count - 1} in this order (causal = {causal})",
                id="relative-buckets.order",
                got=sorted(set(got.tolist())),
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """relative_buckets is right for any distances, n_buckets and max_distance."""
        self.judge(answers=self.ask("relative_buckets", samples.distances(self.rng)))

    def expect_buckets(self, answer: Answer, right: np.ndarray, slack: np.ndarray | int) -> None:
        """Fail unless an answer has the right buckets, or buckets that are lower by the slack."""
        got = self.array(answer, right.shape, "i")
        wrong = (got != right) & (got != right - slack)
        first = int(np.argmax(wrong))
        given, n_buckets, reach, causal = answer.arguments
        answer.expect(
            not wrong.any(),
            "relative_buckets gives a distance the wrong bucket",
            id="relative-buckets.bucket",
            got=f"{got[first]} for j - i = {given[first]}, {n_buckets} buckets up to {reach}, "
            f"causal = {causal}",
            expected=int(right[first]),
        )


class BlocksRotation(PositionsCase):
    topic = "blocks_rotation"

    @graded()
    def test_plane(self) -> None:
        """rotate takes (1, 0) at position i to (cos i, sin i)."""
        x, positions = np.tile([1.0, 0.0], (4, 1)), np.array([0, 1, 2, 7])
        wanted = np.stack([np.cos(positions), np.sin(positions)], axis=1)
        self.expect_each(
            "rotate",
            [([x, positions, pairing], wanted) for pairing in ("adjacent", "half")],
            "in two dimensions, (1, 0) at position i should become (cos i, sin i)",
            id="rotate.plane",
        )
        (a, b), (c, d) = np.cos([1, 0.01]), np.sin([1, 0.01])
        turned = {
            "adjacent": ([[1.0, 0, 1, 0]], [[a, c, b, d]]),
            "half": ([[1.0, 1, 0, 0]], [[a, b, c, d]]),
        }
        self.expect_each(
            "rotate",
            [
                ([np.array(x), np.array([1]), pairing], right)
                for pairing, (x, right) in turned.items()
            ],
            'in four dimensions, with pairing "{2}", two pairs (1, 0) at position 1 should become '
            "(cos 1, sin 1) and (cos .01, sin .01)",
            id="rotate.pairs",
        )

    @graded()
    def test_relative(self) -> None:
        """Scores of rotated vectors depend only on their distance, and lengths do not change."""
        x = np.tile(self.rng.normal(size=6), (8, 1))
        asked = [[x, np.arange(8), pairing] for pairing in ("adjacent", "half")]
        for answer in self.ask("rotate", asked):
            pairing = answer.arguments[2]
            rotated = self.array(answer, x.shape)
            scores = samples.products(rotated)
            # <f(x, i), f(x, j)> is the same along each diagonal; the first is the length squared.
            same = all(np.ptp(np.diagonal(scores, n)) <= 1e-4 for n in range(8))
            answer.expect(
                same and abs(scores[0, 0] - x[0] @ x[0]) <= 1e-4,
                f'with pairing "{pairing}", scores of one vector at positions i and j should '
                "depend only on i - j, and lengths should not change",
                id="rotate.distances",
            )
            # The probability that all of x is near 0 is far below 1e-6.
            answer.expect(
                bool((np.abs(rotated - x)[1:].max(axis=1) > 1e-4).all()),
                f'with pairing "{pairing}", vectors at positions after 0 are returned unchanged',
                id="rotate.unchanged",
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """rotate is right for both pairings, any shape and any positions."""
        self.judge(answers=self.ask("rotate", samples.rotations(self.rng)))


class PretrainingCase(BlocksCase):
    module = "building_blocks_pretraining.py"


class BlocksSentinels(PretrainingCase):
    topic = "blocks_sentinels"

    @graded()
    def test_example(self) -> None:
        """span_corruption returns T5's example."""
        text = "Thank you for inviting me to your party last week"
        wanted = ("Thank you <X> me to your party <Y> week", "<X> for inviting <Y> last <Z>")
        (answer,) = self.ask("span_corruption", [[text.split(), [[2, 4], [8, 9]]]])
        for part, name in enumerate(("input", "target")):
            got = " ".join(self.words(answer, part))
            answer.expect(
                got == wanted[part],
                f"the {name} of the example is wrong",
                id=f"span-corruption.{name}",
                got=got,
                expected=wanted[part],
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """span_corruption is right for any text and spans."""
        self.judge(answers=self.ask("span_corruption", samples.spans(self.rng)))


class BlocksBertMask(PretrainingCase):
    topic = "blocks_bert_mask"

    @graded()
    def test_places(self) -> None:
        """Chosen positions have targets, and tokens at the others do not change."""
        for inputs, targets, tokens, answer in self.masked(sizes=[(4, 60), (1, 500)]):
            chosen = targets != samples.IGNORED
            # 240 tokens or more: none has probability .85^240 < 1e-16, all .15^240.
            answer.expect(
                0 < chosen.sum() < chosen.size,
                "none or all of hundreds of tokens are chosen: a target other than IGNORED "
                "marks a chosen token",
                id="bert-mask.none-or-all-chosen",
                got=f"{chosen.sum()} of {chosen.size}",
                expected="about 15 %",
            )
            answer.expect(
                bool((inputs == tokens)[~chosen].all()),
                "an input differs from its token although the target is IGNORED",
                id="bert-mask.unchosen-input",
            )
            answer.expect(
                bool((targets == tokens)[chosen].all()),
                "a target is not the original token at its position",
                id="bert-mask.target",
            )

    @graded(is_hidden=True)
    def test_shares(self) -> None:
        """15 % are chosen; of these, 80 % are masked, 10 % drawn, 10 % left."""
        self.judge(drawn=self.masked(sizes=[(40, 1000), (2, 20_000)]))

    @graded(is_hidden=True)
    def test_randomness(self) -> None:
        """Other random numbers choose other tokens; the same ones choose the same tokens."""
        asked = samples.masked(self.rng, [(3, 200)])[0]
        others = [*asked[:3], {"seed": asked[3]["seed"] + 1}]
        self.judge(answers=self.ask("bert_mask", [asked, asked, others]))

    def masked(self, sizes: list[tuple[int, int]]) -> list[tuple]:
        """Return (inputs, targets, tokens, answer) for batches of tokens other than 0 and 1."""
        found = []
        for answer in self.ask("bert_mask", samples.masked(self.rng, sizes)):
            tokens = answer.arguments[0]
            both = [self.array(answer, tokens.shape, "i", part) for part in (0, 1)]
            found.append((*both, tokens, answer))
        return found


class BlocksPerplexity(PretrainingCase):
    topic = "blocks_perplexity"

    @graded()
    def test_uniform(self) -> None:
        """perplexity is 8 where each word has probability 1/8."""
        words, letters = np.full(20, -math.log(8)), np.full(60, -math.log(2))
        self.expect_each(
            "perplexity",
            [([words, 20], 8.0), ([letters, 20], 8.0)],
            "20 words with probability 1/8 each, or with three tokens of probability 1/2 each, "
            "should have a perplexity of 8",
            id="perplexity.uniform",
        )

    @graded(is_hidden=True)
    def test_long(self) -> None:
        """perplexity is right for texts of any length."""
        self.judge(answers=self.ask("perplexity", samples.texts(self.rng)))

    @graded()
    def test_bits(self) -> None:
        """bits_per_character turns nats per token into bits per character."""
        self.expect_each(
            "bits_per_character",
            [([math.log(2), 10, 10], 1.0), ([math.log(16), 25, 100], 1.0), ([3.0, 7, 35], 0.8656)],
            "bits_per_character{arguments} is wrong",
            id="bits-per-character.values",
        )

    @graded(is_hidden=True)
    def test_any_bits(self) -> None:
        """bits_per_character is right for any loss and numbers of tokens and characters."""
        counts = self.rng.integers(1, 10_000, size=(5, 2)).tolist()
        asked = [[float(self.rng.uniform(0.1, 8)), *each] for each in counts]
        self.judge(answers=self.ask("bits_per_character", asked))


def _right_form(answer: Answer, shape: tuple[int, ...], kind: str) -> str:
    if not shape:
        return "an integer" if kind == "i" else "a single number"
    if len(answer.parts) > 1:
        return f"two tensors of shape {shape}, of {KINDS[kind]}: inputs and targets"
    if (len(shape), kind) == (1, "i"):
        return f"a list of {shape[0]} integers"
    return f"a tensor of shape {shape}, of {KINDS[kind]}"


def _shown(number: Any, kind: str) -> str:
    """Format a number of an answer, in full for integers: powers may be off by 1."""
    if isinstance(number, np.bool_ | np.integer):
        return str(number)
    return repr(float(number)) if kind == "i" else f"{number:.6g}"
