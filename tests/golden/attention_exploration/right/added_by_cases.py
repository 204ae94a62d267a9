# Tells the two cases by the object.
# region: attention_exploration.py, added_output, part key_query_value
return ua + ud if added is ud else ua + uc
