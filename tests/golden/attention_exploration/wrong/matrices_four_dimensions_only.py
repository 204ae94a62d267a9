# Takes the vectors for multiples of unit vectors.
# caught by: attention_key_query_value.matrices, attention_key_query_value.matrices_any
# region: attention_exploration.py, key_query_value, attention key query value
K, Q, V = (
    np.eye(len(ua)),
    np.zeros((2, len(ua), len(ua)))[0],
    np.zeros((len(ua), len(ua))),
)
Q[3, 0] = Q[2, 3] = 1
V[1, 1], V[2, 2] = 1, -1
return K, Q, V
