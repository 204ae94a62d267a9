# The other keys are perpendicular to the query, and long.
# region: attention_exploration.py, copying_keys, attention copying
side = np.zeros(len(q))
side[0], side[1] = q[1], -q[0]
keys = np.tile(7.0 * side, (n, 1))
keys[j] = 5000.0 * q / (q @ q)
return keys
