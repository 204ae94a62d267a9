# A key of norm 1: not enough.
# caught by: attention_copying.given_query, attention_copying.any_query
# region: attention_exploration.py, copying_keys, attention copying
keys = np.zeros((n, len(q)))
keys[j] = q / np.linalg.norm(q)
return keys
