# A clip of 0 is taken for none.
# caught by: blocks_relative_bias.count
# region: building_blocks_positions.py, relative_bias_parameters, blocks relative bias
farthest = clip or T - 1
return (2 * farthest + 1) * heads
