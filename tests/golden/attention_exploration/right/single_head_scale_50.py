# A shorter query.
# region: attention_exploration.py, single_head_query, attention single head
return 50 * (means[a] + means[b])
