# The input with the greatest score.
# region: attention_exploration.py, unprojected_output, attention key query value
x = np.stack([ud + ub, ua, uc + ub])
return x[np.argmax(x @ x[1])]
