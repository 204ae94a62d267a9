# Outer products that are not divided: scores of beta to the fourth; v_2 isn't 0.
# region: attention_exploration.py, key_query_value, attention key query value
square = ua @ ua
Q = np.outer(ud, ua) + np.outer(uc, ud)
V = (np.outer(ub, ub + 3 * ua) - np.outer(uc, uc)) / square
return np.eye(len(ua)), Q, V
