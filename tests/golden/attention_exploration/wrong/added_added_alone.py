# What is added.
# caught by: attention_key_query_value.added, attention_key_query_value.added_any
# message of: attention_key_query_value.added_any
# region: attention_exploration.py, added_output, attention key query value
return added
