# By the logarithm of the sum, as an array.
# region: attention_exploration.py, single_head_weights, attention single head
scores = np.zeros(n)
scores[:2] = length * scale, scale
return np.exp(scores - np.logaddexp.reduce(scores))[:2]
