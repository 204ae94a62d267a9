# Builds the keys and asks attention.
# region: attention_exploration.py, single_head_weights, attention single head
means = np.eye(n)
keys = means.copy()
keys[0] *= length
_, alpha = attention(scale * (means[0] + means[1]), keys, means)
return alpha[0], alpha[1]
