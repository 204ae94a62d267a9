# Each head points away from all other means.
# region: attention_exploration.py, two_head_queries, attention two heads
total = means.sum(axis=0)
return 80.0 * (2 * means[a] - total), 80.0 * (2 * means[b] - total)
