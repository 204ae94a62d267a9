# The second head sees a as well, but prefers b while keys are near their means.
# region: attention_exploration.py, two_head_queries, attention two heads
return 100.0 * means[a], 100.0 * (means[a] + 2 * means[b])
