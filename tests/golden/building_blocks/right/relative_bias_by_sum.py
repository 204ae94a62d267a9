# A sum of products.
# region: building_blocks_positions.py, relative_bias, blocks add or concatenate
return (p[:, None, :] * p[None, :, :]).sum(-1)
