# A shorter query.
# region: attention_exploration.py, copying_query, part copying
return 50 * keys[j]
