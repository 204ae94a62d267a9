# The other two inputs.
# caught by: attention_key_query_value.unprojected, attention_key_query_value.unprojected_any
# region: attention_exploration.py, unprojected_output, attention key query value
return (ud + ub + uc + ub) / 2
