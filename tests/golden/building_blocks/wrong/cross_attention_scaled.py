# Scores are divided by sqrt(d), which the lecture's equation does not.
# caught by: blocks_masks.memory, blocks_masks.random_memory
# region: building_blocks.py, cross_attention, blocks masks
return ((Z @ Q) @ (H @ K).mT / math.sqrt(Z.size(1))).softmax(dim=-1) @ (H @ V)
