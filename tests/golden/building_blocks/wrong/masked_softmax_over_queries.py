# The softmax is over the queries.
# caught by: blocks_late_mask.random
# region: building_blocks.py, masked_softmax, blocks late mask
if when == "before":
    return scores.masked_fill(~mask, -1e9).softmax(dim=-2)
return scores.softmax(dim=-2) * mask
