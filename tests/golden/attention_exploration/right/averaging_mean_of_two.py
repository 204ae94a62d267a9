# The mean of the two keys, 200 times as long.
# region: attention_exploration.py, average_query, attention averaging
return 200.0 * (keys[a] + keys[b]) / 2
