# A longer query.
# region: attention_exploration.py, copying_query, attention copying
return 5000.0 * keys[j]
