# Other means get scores of their own, all far below 0.
# region: attention_exploration.py, steady_query, attention single head
query = np.zeros(means.shape[1])
for i, mean in enumerate(means):
    if i != a and i != b:
        query = query - (50 + 20 * i) * mean
return query
