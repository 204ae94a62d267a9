# A shorter query.
# region: attention_exploration.py, copying_query, attention copying
return 50 * keys[j]
