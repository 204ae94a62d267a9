# Heads share the biases.
# caught by: blocks_relative_bias.count
# region: building_blocks_positions.py, relative_bias_parameters, blocks relative bias
return 2 * (T - 1 if clip is None else clip) + 1
