# The same, away from the other means as well.
# caught by: attention_single_head.steady, attention_single_head.steady_any
# region: attention_exploration.py, steady_query, attention single head
return 100.0 * (2 * means[a] + 2 * means[b] - means.sum(axis=0))
