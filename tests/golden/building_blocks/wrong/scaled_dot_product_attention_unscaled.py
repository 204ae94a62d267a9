# Without the square root of d.
# caught by: blocks_attention.example
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = q @ k.mT
if mask is not None:
    scores = scores.masked_fill(~mask, -torch.inf)
return torch.nan_to_num(scores.softmax(dim=-1)) @ v
