# Over the axis before the last, as well.
# caught by: blocks_layers.normalised
# region: building_blocks.py, layer_norm, blocks layers
centred = x - x.mean()
y = centred / (centred.square().mean() + eps).sqrt()
y = y if gain is None else gain * y
return y if bias is None else y + bias
