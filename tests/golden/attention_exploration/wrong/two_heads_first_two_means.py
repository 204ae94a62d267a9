# The first two means, whichever are asked for.
# caught by: attention_two_heads.lengths, attention_two_heads.spread
# region: attention_exploration.py, two_head_queries, attention two heads
return 100.0 * means[0], 100.0 * means[1]
