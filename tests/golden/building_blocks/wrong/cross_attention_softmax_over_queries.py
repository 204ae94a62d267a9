# The softmax is over queries.
# caught by: blocks_masks.random_memory
# region: building_blocks.py, cross_attention, blocks masks
return ((Z @ Q) @ (H @ K).mT).softmax(dim=0) @ (H @ V)
