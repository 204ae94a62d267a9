# A shorter query.
# region: attention_exploration.py, single_head_query, part single_head
return 50 * (means[a] + means[b])
