# Too short.
# caught by: attention_single_head.steady, attention_single_head.steady_any
# region: attention_exploration.py, steady_query, attention single head
return means[a] + means[b] - means.sum(axis=0)
