# The weighted sums are forgotten.
# caught by: blocks_cost.example
# region: building_blocks.py, attention_multiply_adds, blocks cost
queries = M if kind == "encoder" else N
return queries * (N if kind == "decoder" else M) * k
