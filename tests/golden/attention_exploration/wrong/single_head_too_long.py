# So long that even vanishing noise decides.
# caught by: attention_single_head.any_means
# region: attention_exploration.py, single_head_query, attention single head
return 1e8 * (means[a] + means[b])
