# Two operations for each multiplication and addition.
# caught by: blocks_cost.example
# region: building_blocks.py, attention_multiply_adds, blocks cost
queries = M if kind == "encoder" else N
return 4 * queries * (N if kind == "decoder" else M) * k
