# Leaves out the other keys.
# caught by: attention_single_head.lengths, attention_single_head.sampled_lengths
# region: attention_exploration.py, single_head_weights, attention single head
alpha_a = 1 / (1 + np.exp(np.minimum((1 - length) * scale, 700)))
return alpha_a, 1 - alpha_a
