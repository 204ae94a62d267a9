# The shortest query with the scores wanted.
# region: attention_exploration.py, steady_query, attention single head
scores = np.full(len(means), -200.0)
scores[[a, b]] = 0
return np.linalg.lstsq(means, scores, rcond=None)[0]
