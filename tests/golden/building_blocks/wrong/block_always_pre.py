# Always pre.
# caught by: blocks_layers.order
# region: building_blocks.py, block, blocks layers
x = x + attention(layer_norm(x))
return x + mlp(layer_norm(x))
