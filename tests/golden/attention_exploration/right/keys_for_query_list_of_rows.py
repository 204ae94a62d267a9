# A list of lists.
# region: attention_exploration.py, copying_keys, attention copying
row = (100 * q / (q @ q)).tolist()
return [row if i == j else [0.0] * len(q) for i in range(n)]
