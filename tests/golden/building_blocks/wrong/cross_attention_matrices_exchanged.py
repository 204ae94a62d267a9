# Q and K are exchanged.
# caught by: blocks_masks.memory, blocks_masks.random_memory
# region: building_blocks.py, cross_attention, blocks masks
return ((Z @ K) @ (H @ Q).mT).softmax(dim=-1) @ (H @ V)
