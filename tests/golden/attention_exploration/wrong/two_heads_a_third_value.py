# The second head looks at another key besides b, a little less.
# caught by: attention_two_heads.near_means, attention_two_heads.any_means
# region: attention_exploration.py, two_head_queries, attention two heads
others = [mean for i, mean in enumerate(means) if i not in (a, b)]
return 100 * means[a], 100 * means[b] + 97.5 * sum(others[:1])
