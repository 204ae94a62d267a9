# One of the two means alone.
# caught by: attention_single_head.near_means, attention_single_head.any_means
# region: attention_exploration.py, single_head_query, attention single head
return 100.0 * means[b]
