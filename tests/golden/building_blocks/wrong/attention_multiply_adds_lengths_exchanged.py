# Encoder and decoder are exchanged.
# caught by: blocks_cost.example
# region: building_blocks.py, attention_multiply_adds, blocks cost
queries = N if kind == "encoder" else M
return 2 * queries * (M if kind == "decoder" else N) * k
