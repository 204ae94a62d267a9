# Longer queries, in an array.
# region: attention_exploration.py, two_head_queries, part two_heads
return 5000.0 * means[[a, b]]
