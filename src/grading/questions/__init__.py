"""The tests: one class a topic, what is asked of it and what basic tests assert.

Hidden tests draw their inputs here and are judged by staff's solutions/hidden/; without it they
run and say so. Numbers, points and time limits are in assignment.toml.
"""

from . import (
    attention,
    blocks_attention,
    blocks_positions,
    blocks_pretraining,
    rotary,
    span_corruption,
    synthesizer,
    training,
)

CASES = [
    training.Finetuning,
    training.NoPretraining,
    span_corruption.SpanCorruption,
    training.Pretraining,
    synthesizer.Synthesizer,
    rotary.Rotary,
    attention.AttentionCopying,
    attention.AttentionAveraging,
    attention.AttentionSingleHead,
    attention.AttentionTwoHeads,
    attention.AttentionKeyQueryValue,
    blocks_attention.BlocksAttention,
    blocks_attention.BlocksHeads,
    blocks_attention.BlocksMasks,
    blocks_positions.BlocksSinusoids,
    blocks_positions.BlocksOffsets,
    blocks_positions.BlocksAddOrConcatenate,
    blocks_positions.BlocksRelativeBias,
    blocks_positions.BlocksRotation,
    blocks_attention.BlocksLayers,
    blocks_pretraining.BlocksSentinels,
    blocks_pretraining.BlocksBertMask,
    blocks_pretraining.BlocksPerplexity,
    blocks_attention.BlocksReceptiveField,
    blocks_attention.BlocksCost,
]
