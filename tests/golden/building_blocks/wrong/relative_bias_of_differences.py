# Of the distance of encodings.
# caught by: blocks_add_or_concatenate.bias
# region: building_blocks_positions.py, relative_bias, blocks add or concatenate
return -torch.cdist(p, p)
