# Unit vectors, whatever the query is.
# caught by: attention_copying.any_query
# region: attention_exploration.py, copying_keys, attention copying
return 100.0 * np.eye(max(n, len(q)))[:n, : len(q)]
