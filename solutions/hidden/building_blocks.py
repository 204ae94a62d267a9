"""Building blocks: answers equal the reference's on inputs drawn afresh; draws have their shares.

What is drawn lies within what the docstrings promise, and CLOSE is far above the rounding of any
right code: the tests that compare can't fail one.
"""

from __future__ import annotations

import numpy as np

from grading.judges import Judge
from questions.building_blocks.calling import AsksBlocks
from questions.building_blocks.expected import IGNORED
from questions.building_blocks.tests_layers import BlocksReceptiveField
from questions.building_blocks.tests_positions import BlocksBuckets, BlocksOffsets


def _same(**sentences: str) -> Judge:
    """Make a judge that wants the reference's answers: for each name, a sentence if they differ.

    The sentences are what a student reads.
    """

    def judge(case: AsksBlocks, **observed: list) -> None:
        for name, sentence in sentences.items():
            answers = observed[name]
            for answer, (right,) in zip(answers, case.right_answers(answers), strict=True):
                case.expect_close(answer, right, sentence)

    return judge


blocks_attention_random = _same(
    answers="the output is not that of the equation, for some shape or mask",
)
blocks_heads_random = _same(
    split="split_heads gives some head the wrong channels for some sizes",
    merged="merge_heads puts channels in the wrong order for some sizes",
)
blocks_masks_random_masks = _same(
    answers="attention_mask is wrong for some lengths",
)
blocks_masks_random_memory = _same(
    answers="cross_attention is not softmax(ZQ (HK)^T) HV for some matrices",
)
blocks_late_mask_random = _same(
    answers="masked_softmax is wrong for some scores and mask",
)
blocks_sinusoids_random = _same(
    answers="sinusoidal_positions is wrong for some T and d",
)
blocks_add_or_concatenate_random = _same(
    scores="position_scores is wrong for some embeddings",
    biases="relative_bias is wrong for some embeddings",
)
blocks_relative_bias_random = _same(
    counts="relative_bias_parameters is wrong for some numbers",
    matrices="relative_bias_matrix is wrong for some sizes",
)
blocks_rotation_random = _same(
    answers="rotate is wrong for some shape, pairing or positions",
)
blocks_layers_random_norms = _same(
    answers="layer_norm is wrong for some shape, gain, bias or eps",
)
blocks_layers_random_blocks = _same(
    answers="block is wrong for some attention and MLP",
)
blocks_residuals_random = _same(
    answers="gradient_at_input is wrong for some layers, input and gradient",
)
blocks_perplexity_long = _same(
    answers="perplexity is wrong for some text, short or long",
)
blocks_perplexity_any_bits = _same(
    answers="bits_per_character is wrong for some loss and numbers",
)
blocks_receptive_field_any_count = _same(
    answers="receptive_field is wrong for some numbers",
)
blocks_cost_random = _same(
    answers="attention_multiply_adds is wrong for some sizes",
)

blocks_parameters_random = _same(
    answers="count_parameters is wrong for some GPTConfig",
)


def blocks_buckets_random(case: BlocksBuckets, answers: list) -> None:
    """Expect the reference's buckets; at the very beginning of a range, rounding decides.

    Of the place of a distance among the ranges, single precision is off by less than 1e-5. A
    distance at which no range begins is 1e-4 or more away from all beginnings, as
    tests/test_building_blocks.py computes for those that are drawn.
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
        # What the reference rounds down is brought up to the range that begins.
        upper = right + (begins & (right % (2 * exact) < exact + begun))
        case.expect_buckets(answer, upper, begins.astype(np.int64))


def blocks_sentinels_random(case: AsksBlocks, answers: list) -> None:
    for answer, right in zip(answers, case.right_answers(answers), strict=True):
        case.expect(
            [case.words(answer, part) for part in (0, 1)] == right,
            "span_corruption is wrong for some text and spans",
            got=answer.parts,
            expected=right,
        )


def blocks_bert_mask_shares(case: AsksBlocks, drawn: list) -> None:
    """Expect right shares of 80,000 tokens, with room.

    tests/test_building_blocks.py computes what is said here.

    A share of n draws is off from p to a or beyond with probability at most exp(-n KL(a || p))
    (Chernoff). Chosen: .15 to .14 or .16, below 1e-13 each. Given 11,200 chosen or more, masked:
    .80 to .77 or .83, below 1e-13 each; left: .1001 (one token in 1,000 is drawn again) to .08 or
    .12, below 1e-10 each. Of the others there are then 560 or more, spread evenly over 998 tokens:
    more than 2 % of one token have probability below 2e-7, and a share of those from 500 up, of
    which there are 500, other than .35 to .65 one below 2e-11 for each side. Each batch has 5,000
    chosen or more, but for 1e-44, and after one comes another with probability .15: for .25 of
    them that is below 1e-73, times 40,000 for how many there may be.
    """
    inputs, targets, tokens = (np.concatenate([d[i].ravel() for d in drawn]) for i in range(3))
    chosen = targets != IGNORED
    case.expect(
        0.14 <= chosen.mean() <= 0.16,
        "the share of tokens chosen is not 15 %",
        got=float(chosen.mean()),
    )
    now, before = inputs[chosen], tokens[chosen]
    masked, kept = now == 1, now == before
    for share, name, low, high in (
        (masked, "replaced by the mask is not 80 %", 0.77, 0.83),
        (kept, "left as they are is not 10 %", 0.08, 0.12),
    ):
        case.expect(
            low <= share.mean() <= high,
            f"the share of chosen tokens that are {name}",
            got=float(share.mean()),
        )
    others = now[~masked & ~kept]
    case.expect(
        bool(((others >= 0) & (others < 1000)).all()),
        "a token is replaced by an id that is not in the vocabulary",
    )
    _, counts = np.unique(others, return_counts=True)
    case.expect(
        counts.max() <= 0.02 * len(others),
        "tokens drawn from the vocabulary are often the same one",
        got=int(counts.max()),
        of=len(others),
    )
    case.expect(
        0.35 <= (others >= 500).mean() <= 0.65,
        "tokens drawn do not come from all of the vocabulary",
        got=f"{(others >= 500).mean():.3f} of them from its upper half",
        cause="they are taken from the batch, or from part of the vocabulary",
    )
    for rows in (batch[1] != IGNORED for batch in drawn):
        case.expect(
            bool((rows != rows[0]).any()) and rows[:, 1:][rows[:, :-1]].mean() <= 0.25,
            "tokens are not chosen independently of each other",
            cause="one choice for all sequences of a batch, or for a run of tokens",
        )


def blocks_bert_mask_randomness(case: AsksBlocks, answers: list) -> None:
    """Expect the same generator to choose the same tokens, and another one others.

    Two draws of 600 tokens choose the same with probability (1 - 2 * .15 * .85)^600 < 1e-76.
    """
    first, again, other = ([case.array(a, (3, 200), "i", part) for part in (0, 1)] for a in answers)
    case.expect(
        all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)),
        "the same generator gives another result: do all random numbers come from it?",
    )
    case.expect(
        not np.array_equal(first[1], other[1]),
        "another generator chooses the same tokens: do random numbers come from it?",
    )


def blocks_receptive_field_any_reach(case: BlocksReceptiveField, sizes: list) -> None:
    for heads, levels in sizes:
        case.expect_reached(heads, levels)


blocks_offsets_random = BlocksOffsets.judge_moves
