# The slide's mean, without 1/d.
# caught by: blocks_layers.normalised
# region: building_blocks.py, layer_norm, blocks layers
centred = x - x.sum(dim=-1, keepdim=True)
y = centred / (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
y = y if gain is None else gain * y
return y if bias is None else y + bias
