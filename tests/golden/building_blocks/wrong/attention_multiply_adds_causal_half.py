# Masked scores are not counted.
# caught by: blocks_cost.example
# region: building_blocks.py, attention_multiply_adds, blocks cost
if kind == "decoder":
    return N * (N + 1) * k
return 2 * M * k * (M if kind == "encoder" else N)
