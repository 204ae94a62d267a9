# eps is added to the deviation.
# caught by: blocks_layers.random_norms
# region: building_blocks.py, layer_norm, blocks layers
centred = x - x.mean(dim=-1, keepdim=True)
y = centred / (centred.square().mean(dim=-1, keepdim=True).sqrt() + eps)
y = y if gain is None else gain * y
return y if bias is None else y + bias
