# Forgets b.
# caught by: attention_single_head.steady, attention_single_head.steady_any
# region: attention_exploration.py, steady_query, attention single head
return 100.0 * (means[a] - means.sum(axis=0))
