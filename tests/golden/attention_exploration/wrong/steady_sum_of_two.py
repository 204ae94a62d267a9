# The query of the parts before, which a change of the length pulls to one side.
# caught by: attention_single_head.steady, attention_single_head.steady_any
# region: attention_exploration.py, steady_query, attention single head
return 100.0 * (means[a] + means[b])
