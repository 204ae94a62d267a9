"""The tests: one class a topic, what is asked of it and what basic tests assert.

Hidden tests draw their inputs here and are judged by staff's solutions/hidden/; without it they
run and say so. Numbers, points and time limits are in assignment.toml.
"""

from . import attention, blocks, rotary, span_corruption, synthesizer, training

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
    *blocks.CASES,
]
