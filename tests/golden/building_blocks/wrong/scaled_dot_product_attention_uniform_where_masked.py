# A large negative number for -inf: a row that sees nothing averages all.
# caught by: blocks_attention.masks
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = q @ k.mT / math.sqrt(q.size(-1))
if mask is not None:
    scores = scores.masked_fill(~mask, -1e9)
return scores.softmax(dim=-1) @ v
