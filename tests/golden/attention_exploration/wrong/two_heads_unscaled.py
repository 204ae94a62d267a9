# Too short.
# caught by: attention_two_heads.near_means, attention_two_heads.any_means
# region: attention_exploration.py, two_head_queries, attention two heads
return means[a], means[b]
