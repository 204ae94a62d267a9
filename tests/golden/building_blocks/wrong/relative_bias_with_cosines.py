# Encodings are normalised.
# caught by: blocks_add_or_concatenate.bias
# region: building_blocks_positions.py, relative_bias, blocks add or concatenate
p = p / p.norm(dim=1, keepdim=True)
return p @ p.T
