# The query 100 times as long, which short queries need more than.
# caught by: attention_copying.given_query, attention_copying.any_query
# region: attention_exploration.py, copying_keys, attention copying
keys = np.zeros((n, len(q)))
keys[j] = 100.0 * q
return keys
