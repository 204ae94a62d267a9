# The difference of the two keys.
# caught by: attention_averaging.perpendicular, attention_averaging.oblique
# region: attention_exploration.py, average_query, attention averaging
return 100.0 * (keys[a] - keys[b])
