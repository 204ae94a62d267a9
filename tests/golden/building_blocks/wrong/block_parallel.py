# Both parts see the same input.
# caught by: blocks_layers.random_blocks
# region: building_blocks.py, block, blocks layers
if norm == "pre":
    return x + attention(layer_norm(x)) + mlp(layer_norm(x))
return layer_norm(x + attention(x) + mlp(x))
