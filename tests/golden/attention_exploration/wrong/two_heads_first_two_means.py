# The first two means, whichever are asked for.
# caught by: attention_two_heads.near_means, attention_two_heads.any_means
# message of: attention_two_heads.any_means
# region: attention_exploration.py, two_head_queries, attention two heads
return 100.0 * means[0], 100.0 * means[1]
