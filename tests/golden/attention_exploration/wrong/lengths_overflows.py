# Without the maximum taken off, exp overflows.
# caught by: attention_single_head.lengths, attention_single_head.sampled_lengths
# region: attention_exploration.py, single_head_weights, attention single head
with np.errstate(all="ignore"):
    weights = np.exp(np.array([length * scale, scale]))
    return tuple(weights / (weights.sum() + n - 2))
