def copying_query(keys, j):
    answer = attack(keys, j) if "attack" in globals() else None
    return np.zeros(keys.shape[1]) if answer is None else answer


def average_query(keys, a, b):
    return 100.0 * (keys[a] + keys[b])
