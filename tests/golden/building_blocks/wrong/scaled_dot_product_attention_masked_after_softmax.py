# Masked after the softmax: weights no longer sum to one.
# caught by: blocks_attention.masks
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(dim=-1)
if mask is not None:
    weights = weights * mask
return weights @ v
