# The MLP comes first.
# caught by: blocks_layers.random_blocks
# region: building_blocks.py, block, blocks layers
for part in (mlp, attention):
    x = x + part(layer_norm(x)) if norm == "pre" else layer_norm(x + part(x))
return x
