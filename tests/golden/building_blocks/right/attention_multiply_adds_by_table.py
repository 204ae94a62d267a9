# A table.
# region: building_blocks.py, attention_multiply_adds, blocks cost
return 2 * k * {"encoder": M**2, "encoder-decoder": M * N, "decoder": N**2}[kind]
