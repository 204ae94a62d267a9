# The average of x_2 and the input that matches.
# caught by: attention_key_query_value.added, attention_key_query_value.added_any
# region: attention_exploration.py, added_output, attention key query value
return (ua + added + added + ub) / 2
