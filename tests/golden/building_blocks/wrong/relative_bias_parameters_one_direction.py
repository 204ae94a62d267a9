# Distances are counted without their sign.
# caught by: blocks_relative_bias.count
# region: building_blocks_positions.py, relative_bias_parameters, blocks relative bias
return (T if clip is None else clip + 1) * heads
