# The longest query that stays right.
# region: attention_exploration.py, steady_query, attention single head
return 5000.0 * (means[a] + means[b] - means.sum(axis=0))
