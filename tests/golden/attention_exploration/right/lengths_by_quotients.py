# Divided by each numerator; quotients that would be infinite are cut.
# region: attention_exploration.py, single_head_weights, attention single head
difference, above = (length - 1) * scale, np.array([-length * scale, -scale])
one_other = np.exp(np.minimum([-difference, difference], 700.0))
return 1 / (1 + one_other + (n - 2) * np.exp(np.minimum(above, 700.0)))
