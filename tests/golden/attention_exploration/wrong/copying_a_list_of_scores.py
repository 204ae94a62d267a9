# One number a key, not a query.
# caught by: attention_copying.oblique
# region: attention_exploration.py, copying_query, attention copying
return 100.0 * np.eye(len(keys))[j]
