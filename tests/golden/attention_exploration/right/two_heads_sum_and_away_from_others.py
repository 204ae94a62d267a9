# Each head averages: one looks at both means, the other away from all others.
# region: attention_exploration.py, two_head_queries, attention two heads
query = means[a] + means[b]
return 100.0 * query, 100.0 * (query - means.sum(axis=0))
