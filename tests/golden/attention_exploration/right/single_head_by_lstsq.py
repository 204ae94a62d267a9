# The shortest query with the scores wanted.
# region: attention_exploration.py, single_head_query, attention single head
scores = np.zeros(len(means))
scores[a] = scores[b] = 200
return np.linalg.lstsq(means, scores, rcond=None)[0]
