# No residual connection around the MLP.
# caught by: blocks_layers.order
# region: building_blocks.py, block, blocks layers
if norm == "pre":
    return mlp(layer_norm(x + attention(layer_norm(x))))
return layer_norm(mlp(layer_norm(x + attention(x))))
