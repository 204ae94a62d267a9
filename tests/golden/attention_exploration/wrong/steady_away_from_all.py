# Points away from a and b, too.
# caught by: attention_single_head.steady, attention_single_head.steady_any
# region: attention_exploration.py, steady_query, attention single head
return -100.0 * means.sum(axis=0)
