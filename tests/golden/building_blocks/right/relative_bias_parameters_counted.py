# The distances, counted.
# region: building_blocks_positions.py, relative_bias_parameters, blocks relative bias
k = T - 1 if clip is None else clip
return heads * len({min(max(j - i, -k), k) for i in range(T) for j in range(T)})
