# The one key alone.
# caught by: attention_copying.given_query, attention_copying.any_query
# region: attention_exploration.py, copying_keys, attention copying
return 100.0 * q / (q @ q)
