# c_2 is right, c_1 is not.
# caught by: attention_key_query_value.matrices, attention_key_query_value.matrices_any
# region: attention_exploration.py, key_query_value, attention key query value
square = ua @ ua
Q = np.outer(ud, ua) / square
return np.eye(len(ua)), Q, (np.outer(ub, ub) - np.outer(uc, uc)) / square
