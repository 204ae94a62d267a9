"""Building blocks: answers must equal the reference's on random inputs; shares must be right.

Inputs stay within what the docstrings promise, and CLOSE is far above the rounding errors of any
correct code, so the tests that compare can't fail it.
"""

import numpy as np

from autograder.judging import Judge
from questions.building_blocks.samples import IGNORED
from questions.building_blocks.tests import (
    BlocksBuckets,
    BlocksCase,
    BlocksOffsets,
    BlocksReceptiveField,
)


def _same(id: str = "", sentence: str = "", **mistakes: tuple[str, str]) -> Judge:
    """Make a judge that expects the reference's answers.

    Args:
        id, sentence: of the failure if `answers` differ.
        mistakes: the same for answers that have other names.
    """
    mistakes = mistakes or {"answers": (id, sentence)}

    def judge(case: BlocksCase, **observed: list) -> None:
        for name, (id, sentence) in mistakes.items():
            answers = observed[name]
            for answer, (right,) in zip(answers, case.right_answers(answers), strict=True):
                case.expect_close(answer, right, sentence, id=id)

    return judge


blocks_attention_random = _same(
    "scaled-dot-product-attention.equation",
    "the output does not match the equation for some shape or mask",
)
blocks_heads_random = _same(
    split=(
        "split-heads.channels-for-some",
        "split_heads gives a head the wrong channels for some sizes",
    ),
    merged=(
        "merge-heads.channels-for-some",
        "merge_heads puts channels in the wrong order for some sizes",
    ),
)
blocks_masks_random_masks = _same(
    "attention-mask.keys-for-some", "attention_mask is wrong for some lengths"
)
blocks_masks_random_memory = _same(
    "cross-attention.equation", "cross_attention is wrong for some matrices"
)
blocks_late_mask_random = _same(
    "masked-softmax.weights-for-some", "masked_softmax is wrong for some scores and masks"
)
blocks_sinusoids_random = _same(
    "sinusoidal-positions.values-for-some", "sinusoidal_positions is wrong for some T and d"
)
blocks_add_or_concatenate_random = _same(
    scores=("position-scores.values-for-some", "position_scores is wrong for some embeddings"),
    biases=("relative-bias.values-for-some", "relative_bias is wrong for some embeddings"),
)
blocks_relative_bias_random = _same(
    counts=(
        "relative-bias-parameters.count-for-some",
        "relative_bias_parameters is wrong for some numbers",
    ),
    matrices=(
        "relative-bias-matrix.places-for-some",
        "relative_bias_matrix is wrong for some sizes",
    ),
)
blocks_rotation_random = _same(
    "rotate.values-for-some", "rotate is wrong for some shape, pairing or positions"
)
blocks_layers_random_norms = _same(
    "layer-norm.values-for-some", "layer_norm is wrong for some shape, gain, bias or eps"
)
blocks_layers_random_blocks = _same(
    "block.values-for-some", "block is wrong for some attention and MLP"
)
blocks_residuals_random = _same(
    "gradient-at-input.values-for-some",
    "gradient_at_input is wrong for some layers, input and gradient",
)
blocks_perplexity_long = _same(
    "perplexity.values-for-some", "perplexity is wrong for some text, short or long"
)
blocks_perplexity_any_bits = _same(
    "bits-per-character.values-for-some", "bits_per_character is wrong for some loss and numbers"
)
blocks_receptive_field_any_count = _same(
    "receptive-field.count-for-some", "receptive_field is wrong for some numbers"
)
blocks_cost_random = _same(
    "attention-multiply-adds.count-for-some", "attention_multiply_adds is wrong for some sizes"
)

blocks_parameters_random = _same(
    "count-parameters.count-for-some", "count_parameters is wrong for some GPTConfig"
)


def blocks_buckets_random(case: BlocksBuckets, answers: list) -> None:
    """Expect the reference's buckets, or either bucket where a range begins at the distance.

    In single precision, a distance's place among the ranges is off by less than 1e-5. A distance
    at which no range begins is at least 1e-4 away from all beginnings, as
    tests/test_building_blocks.py computes for the distances in use.
    """
    for answer, (right,) in zip(answers, case.right_answers(answers), strict=True):
        given, count, reach, is_causal = answer.arguments
        case.array(answer, given.shape, "i")
        exact = count // (2 if is_causal else 4)
        far = np.abs(given)
        ranges = exact * np.log(np.maximum(far, 1) / exact) / np.log(reach / exact)
        begun = np.rint(ranges).astype(np.int64)
        begins = (far > exact) & (far < reach) & (np.abs(ranges - begun) < 1e-5)
        if is_causal:
            begins &= given < 0
        # Where the reference rounds down, raise its bucket to the range that begins there.
        upper = right + (begins & (right % (2 * exact) < exact + begun))
        case.expect_buckets(answer, upper, begins.astype(np.int64))


def blocks_sentinels_random(case: BlocksCase, answers: list) -> None:
    for answer, right in zip(answers, case.right_answers(answers), strict=True):
        case.expect(
            [case.words(answer, part) for part in (0, 1)] == right,
            "span_corruption is wrong for some texts and spans",
            id="span-corruption.words-for-some",
            got=answer.parts,
            expected=right,
        )


def blocks_bert_mask_shares(case: BlocksCase, drawn: list) -> None:
    """Expect the right shares of 80,000 tokens, with a tolerance.

    The share of n draws with probability p reaches a (on its side of p) with probability at most
    exp(-n KL(a || p)) (Chernoff). Chosen, p = .15: below 1e-13 each for .14 and .16. Given at
    least 11,200 chosen tokens: masked, p = .80, below 1e-13 each for .77 and .83; kept, p = .1001
    (one token in 1,000 is drawn again), below 1e-10 each for .08 and .12. At least 560 others then
    remain, spread evenly over 998 tokens: one token makes up more than 2 % of them with
    probability below 2e-7, and the share of the 500 tokens from 500 up leaves .35 to .65 with
    probability below 2e-11 on each side. Each batch has at least 5,000 chosen tokens, except with
    probability 1e-44, and the token after a chosen one is chosen with probability .15: a share of
    .25 has probability below 1e-73, times 40,000 for the possible counts.
    """
    inputs, targets, tokens = (np.concatenate([d[i].ravel() for d in drawn]) for i in range(3))
    chosen = targets != IGNORED
    case.expect(
        0.14 <= chosen.mean() <= 0.16,
        "the share of chosen tokens is not 15 %",
        id="bert-mask.chosen-share",
        got=float(chosen.mean()),
    )
    now, before = inputs[chosen], tokens[chosen]
    masked, kept = now == 1, now == before
    for share, id, name, low, high in (
        (masked, "bert-mask.mask-share", "replaced by the mask is not 80 %", 0.77, 0.83),
        (kept, "bert-mask.kept-share", "left as they are is not 10 %", 0.08, 0.12),
    ):
        case.expect(
            low <= share.mean() <= high,
            f"the share of chosen tokens that are {name}",
            id=id,
            got=float(share.mean()),
        )
    others = now[~masked & ~kept]
    case.expect(
        bool(((others >= 0) & (others < 1000)).all()),
        "a token is replaced by an id that is not in the vocabulary",
        id="bert-mask.outside-vocabulary",
    )
    _, counts = np.unique(others, return_counts=True)
    case.expect(
        counts.max() <= 0.02 * len(others),
        "the tokens drawn from the vocabulary are too often the same one",
        id="bert-mask.same-token",
        got=int(counts.max()),
        of=len(others),
    )
    case.expect(
        0.35 <= (others >= 500).mean() <= 0.65,
        "tokens are not drawn from the whole vocabulary",
        id="bert-mask.part-of-vocabulary",
        got=f"{(others >= 500).mean():.3f} of them are from its upper half",
        cause="they are taken from the batch, or from part of the vocabulary",
    )
    for rows in (batch[1] != IGNORED for batch in drawn):
        case.expect(
            bool((rows != rows[0]).any()) and rows[:, 1:][rows[:, :-1]].mean() <= 0.25,
            "tokens are not chosen independently of each other",
            id="bert-mask.dependent-choices",
            cause="all sequences of a batch, or runs of tokens, share one choice",
        )


def blocks_bert_mask_randomness(case: BlocksCase, answers: list) -> None:
    """Expect equal generators to choose the same tokens, and different ones different tokens.

    Two draws from 600 tokens agree with probability (1 - 2 * .15 * .85)^600 < 1e-76.
    """
    first, again, other = ([case.array(a, (3, 200), "i", part) for part in (0, 1)] for a in answers)
    case.expect(
        all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)),
        "the same generator gives a different result: do all random numbers come from it?",
        id="bert-mask.other-generator",
    )
    case.expect(
        not np.array_equal(first[1], other[1]),
        "a different generator chooses the same tokens: do random numbers come from it?",
        id="bert-mask.generator-ignored",
    )


def blocks_receptive_field_any_reach(case: BlocksReceptiveField, sizes: list) -> None:
    for heads, levels in sizes:
        case.expect_reached(heads, levels)


blocks_offsets_random = BlocksOffsets.judge_moves
