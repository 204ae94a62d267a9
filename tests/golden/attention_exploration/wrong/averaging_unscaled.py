# The sum of the two keys: too short.
# caught by: attention_averaging.perpendicular, attention_averaging.oblique
# region: attention_exploration.py, average_query, attention averaging
return keys[a] + keys[b]
