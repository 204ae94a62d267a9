# Each head points away from its mean.
# caught by: attention_two_heads.lengths, attention_two_heads.spread
# region: attention_exploration.py, two_head_queries, part two_heads
return -100.0 * means[a], -100.0 * means[b]
