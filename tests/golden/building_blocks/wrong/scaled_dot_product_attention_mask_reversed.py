# The mask is taken for what may not be seen.
# caught by: blocks_attention.masks
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = q @ k.mT / math.sqrt(q.size(-1))
if mask is not None:
    scores = scores.masked_fill(mask, -torch.inf)
return torch.nan_to_num(scores.softmax(dim=-1)) @ v
