# All keys are the same.
# caught by: attention_copying.given_query, attention_copying.any_query
# region: attention_exploration.py, copying_keys, attention copying
return np.tile(100.0 * q / (q @ q), (n, 1))
