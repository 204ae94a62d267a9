# The single head's query in both heads.
# caught by: attention_two_heads.near_means, attention_two_heads.any_means
# region: attention_exploration.py, two_head_queries, attention two heads
query = 100.0 * (means[a] + means[b])
return query, query
