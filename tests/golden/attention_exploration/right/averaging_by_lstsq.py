# The shortest query with the scores wanted.
# region: attention_exploration.py, average_query, attention averaging
scores = np.zeros(len(keys))
scores[a] = scores[b] = 50
return np.linalg.lstsq(keys, scores, rcond=None)[0]
