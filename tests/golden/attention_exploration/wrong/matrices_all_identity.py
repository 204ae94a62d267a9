# No projection at all.
# caught by: attention_key_query_value.matrices, attention_key_query_value.matrices_any
# message of: attention_key_query_value.matrices_any
# region: attention_exploration.py, key_query_value, attention key query value
identity = np.eye(len(ua))
return identity, identity, identity
