# A query of zeros: all weights are equal.
# caught by: attention_copying.perpendicular, attention_copying.oblique
# region: attention_exploration.py, copying_query, attention copying
return np.zeros(keys.shape[1])
