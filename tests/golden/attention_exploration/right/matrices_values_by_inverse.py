# V by the inverse of the inputs; scores are 100 whatever beta is.
# region: attention_exploration.py, key_query_value, attention key query value
x = np.stack([ud + ub, ua, uc + ub])
V = np.stack([ub, 0 * ua, ub - uc]).T @ np.linalg.pinv(x.T)
K = np.linalg.pinv(x.T)[[0, 2]]
K = np.concatenate([K, np.zeros((len(ua) - 2, len(ua)))])
Q = np.zeros_like(K)
Q[0], Q[1] = 100 * ua / (ua @ ua), 100 * ud / (ud @ ud)
return [K, Q, V]
