# Points away from the other means, too; 5,000 long in each direction.
# region: attention_exploration.py, single_head_query, attention single head
signs = -np.ones(len(means))
signs[[a, b]] = 1
return 5000.0 * signs @ means
