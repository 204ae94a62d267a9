# Q x_1 is along ub + uc: x_1 has some of it, x_3 has twice as much.
# region: attention_exploration.py, key_query_value, attention key query value
square = ua @ ua
Q = 2 * (np.outer(ud, ua) + np.outer(ub + uc, ud)) / square
V = (np.outer(ub, ub) - np.outer(uc, uc)) / square
return np.array([np.eye(len(ua)), Q, V])
