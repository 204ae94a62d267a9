# A query of infinite length.
# caught by: attention_copying.perpendicular, attention_copying.oblique
# region: attention_exploration.py, copying_query, attention copying
return np.full(keys.shape[1], np.inf)
