# The sum of all keys.
# caught by: attention_averaging.perpendicular, attention_averaging.oblique
# message of: attention_averaging.oblique
# region: attention_exploration.py, average_query, attention averaging
return 100.0 * keys.sum(axis=0)
