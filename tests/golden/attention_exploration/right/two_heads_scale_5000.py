# Longer queries, in an array.
# region: attention_exploration.py, two_head_queries, attention two heads
return 5000.0 * means[[a, b]]
