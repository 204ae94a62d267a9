# Hidden scores become 0 in place of -inf.
# caught by: blocks_late_mask.example, blocks_late_mask.random
# region: building_blocks.py, masked_softmax, blocks late mask
if when == "before":
    return (scores * mask).softmax(dim=-1)
return scores.softmax(dim=-1) * mask
