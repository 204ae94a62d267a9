# Each head points away from the other's key.
# region: attention_exploration.py, two_head_queries, part two_heads
return 100.0 * (means[a] - means[b]), 100.0 * (means[b] - means[a])
