# The slide's "unit mean".
# caught by: blocks_layers.normalised
# region: building_blocks.py, layer_norm, blocks layers
centred = x - x.mean(dim=-1, keepdim=True)
y = 1 + centred / (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
y = y if gain is None else gain * y
return y if bias is None else y + bias
