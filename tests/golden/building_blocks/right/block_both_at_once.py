# One expression for both kinds.
# region: building_blocks.py, block, blocks layers
for part in (attention, mlp):
    x = x + part(layer_norm(x)) if norm == "pre" else layer_norm(x + part(x))
return x
