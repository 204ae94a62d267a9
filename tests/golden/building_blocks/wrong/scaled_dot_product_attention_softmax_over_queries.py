# The softmax is over queries.
# caught by: blocks_attention.random
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = q @ k.mT / math.sqrt(q.size(-1))
if mask is not None:
    scores = scores.masked_fill(~mask, -torch.inf)
return torch.nan_to_num(scores.softmax(dim=-2)) @ v
