# The residual connection takes the normalised input.
# caught by: blocks_layers.order
# region: building_blocks.py, block, blocks layers
if norm == "pre":
    x = layer_norm(x)
    x = layer_norm(x + attention(x))
    return x + mlp(x)
x = layer_norm(x + attention(x))
return layer_norm(x + mlp(x))
