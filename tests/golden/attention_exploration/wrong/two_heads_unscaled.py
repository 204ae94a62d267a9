# Too short.
# caught by: attention_two_heads.lengths, attention_two_heads.spread
# region: attention_exploration.py, two_head_queries, part two_heads
return means[a], means[b]
