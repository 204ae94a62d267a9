# The shortest query with the scores wanted.
# region: attention_exploration.py, copying_query, attention copying
return np.linalg.pinv(keys) @ (100.0 * np.eye(len(keys))[j])
