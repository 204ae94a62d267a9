# One head for the sum, one for the difference.
# caught by: attention_two_heads.lengths, attention_two_heads.spread
# region: attention_exploration.py, two_head_queries, attention two heads
return 100.0 * (means[a] + means[b]), 100.0 * (means[b] - means[a])
