# A row that sees nothing becomes nan.
# caught by: blocks_attention.masks
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = q @ k.mT / math.sqrt(q.size(-1))
if mask is not None:
    scores = scores.masked_fill(~mask, -torch.inf)
return scores.softmax(dim=-1) @ v
