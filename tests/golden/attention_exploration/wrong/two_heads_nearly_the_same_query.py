# The single head's query twice: the difference is too small to count.
# caught by: attention_two_heads.near_means, attention_two_heads.any_means
# message of: attention_two_heads.any_means
# region: attention_exploration.py, two_head_queries, attention two heads
query = 100.0 * (means[a] + means[b])
return query, 1.0001 * query
