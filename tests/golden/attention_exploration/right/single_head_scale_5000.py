# The longest query that stays right.
# region: attention_exploration.py, single_head_query, attention single head
return 5000.0 * (means[a] + means[b])
