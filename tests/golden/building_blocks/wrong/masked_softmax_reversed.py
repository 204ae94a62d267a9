# The mask says where a query may not look.
# caught by: blocks_late_mask.example, blocks_late_mask.random
# region: building_blocks.py, masked_softmax, blocks late mask
if when == "before":
    return scores.masked_fill(mask, -1e9).softmax(dim=-1)
return scores.softmax(dim=-1) * ~mask
