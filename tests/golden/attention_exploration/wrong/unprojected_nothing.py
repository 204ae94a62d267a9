# Zero, as it is perpendicular to the others.
# caught by: attention_key_query_value.unprojected, attention_key_query_value.unprojected_any
# region: attention_exploration.py, unprojected_output, attention key query value
return np.zeros_like(ua)
