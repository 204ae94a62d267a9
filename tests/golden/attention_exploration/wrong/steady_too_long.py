# So long that even vanishing noise decides.
# caught by: attention_single_head.steady_any
# region: attention_exploration.py, steady_query, attention single head
return 1e9 * (means[a] + means[b] - means.sum(axis=0))
