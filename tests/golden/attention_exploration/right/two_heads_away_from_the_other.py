# Each head points away from the other's key.
# region: attention_exploration.py, two_head_queries, attention two heads
return 100.0 * (means[a] - means[b]), 100.0 * (means[b] - means[a])
