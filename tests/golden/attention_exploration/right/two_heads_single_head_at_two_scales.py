# A single head's query in both heads, with different factors.
# region: attention_exploration.py, two_head_queries, attention two heads
query = means[a] + means[b]
return 100.0 * query, 200.0 * query
