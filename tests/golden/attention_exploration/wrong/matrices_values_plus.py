# v_3 = ub + uc.
# caught by: attention_key_query_value.matrices, attention_key_query_value.matrices_any
# region: attention_exploration.py, key_query_value, attention key query value
square = ua @ ua
Q = (np.outer(ud, ua) + np.outer(uc, ud)) / square
return np.eye(len(ua)), Q, (np.outer(ub, ub) + np.outer(uc, uc)) / square
