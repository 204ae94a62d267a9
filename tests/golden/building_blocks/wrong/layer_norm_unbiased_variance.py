# Divided by d - 1.
# caught by: blocks_layers.normalised
# region: building_blocks.py, layer_norm, blocks layers
y = (x - x.mean(dim=-1, keepdim=True)) / (x.var(dim=-1, keepdim=True) + eps).sqrt()
y = y if gain is None else gain * y
return y if bias is None else y + bias
