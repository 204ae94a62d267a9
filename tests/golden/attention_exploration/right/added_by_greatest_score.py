# The input with the greatest score.
# region: attention_exploration.py, added_output, attention key query value
x = np.stack([ud + ub, ua + added, uc + ub])
return x[np.argmax(x @ x[1])]
