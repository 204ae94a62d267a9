# Long enough for the shortest query that may come.
# region: attention_exploration.py, copying_keys, attention copying
keys = np.zeros((n, len(q)))
keys[j] = 1e6 * q
return keys
