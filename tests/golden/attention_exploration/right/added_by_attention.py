# Asks attention at this beta.
# region: attention_exploration.py, added_output, attention key query value
x = np.stack([ud + ub, ua + added, uc + ub])
return attention(x[1], x, x)[0]
