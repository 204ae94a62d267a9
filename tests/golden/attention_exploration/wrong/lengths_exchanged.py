# b first.
# caught by: attention_single_head.lengths, attention_single_head.sampled_lengths
# region: attention_exploration.py, single_head_weights, attention single head
scores = np.array([scale, length * scale] + [0.0] * (n - 2))
weights = np.exp(scores - scores.max())
return weights[0] / weights.sum(), weights[1] / weights.sum()
