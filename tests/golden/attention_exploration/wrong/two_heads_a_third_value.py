# The second head looks at another key besides b, a little less.
# caught by: attention_two_heads.near_means, attention_two_heads.any_means
# region: attention_exploration.py, two_head_queries, attention two heads
other = next(i for i in range(len(means)) if i not in (a, b))
return 100 * means[a], 100 * means[b] + 97.5 * means[other]
