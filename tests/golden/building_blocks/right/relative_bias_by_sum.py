# A sum of products.
# region: building_blocks.py, relative_bias, part add_or_concatenate
return (p[:, None, :] * p[None, :, :]).sum(-1)
