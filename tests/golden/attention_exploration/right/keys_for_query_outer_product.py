# All keys along the query, the others pointing away.
# region: attention_exploration.py, copying_keys, attention copying
signs = np.where(np.arange(n) == j, 1.0, -1.0)
return np.outer(signs, 50 * q / np.linalg.norm(q) ** 2)
