# The limit, for any scale.
# caught by: attention_single_head.lengths, attention_single_head.sampled_lengths
# region: attention_exploration.py, single_head_weights, attention single head
if length == 1:
    return 0.5, 0.5
return (1.0, 0.0) if length > 1 else (0.0, 1.0)
