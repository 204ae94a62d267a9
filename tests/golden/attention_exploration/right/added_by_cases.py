# Tells the two cases by the object.
# region: attention_exploration.py, added_output, attention key query value
return ua + ud if added is ud else ua + uc
