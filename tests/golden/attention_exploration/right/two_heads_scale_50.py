# Shorter queries, in a list, the heads exchanged.
# region: attention_exploration.py, two_head_queries, attention two heads
return [50 * means[b], 50 * means[a]]
