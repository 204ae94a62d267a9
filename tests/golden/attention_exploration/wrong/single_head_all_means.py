# The sum of all means.
# caught by: attention_single_head.near_means, attention_single_head.any_means
# message of: attention_single_head.near_means, attention_single_head.any_means
# region: attention_exploration.py, single_head_query, attention single head
return 100.0 * means.sum(axis=0)
