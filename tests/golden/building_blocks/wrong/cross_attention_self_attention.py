# Keys and values come from the decoder.
# caught by: blocks_masks.memory
# region: building_blocks.py, cross_attention, blocks masks
return ((Z @ Q) @ (Z @ K).mT).softmax(dim=-1) @ (Z @ V)
