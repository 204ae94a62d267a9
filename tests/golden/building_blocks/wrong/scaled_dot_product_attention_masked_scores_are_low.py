# A masked score is -20: low, but not lower than any other.
# caught by: blocks_attention.random
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = q @ k.mT / math.sqrt(q.size(-1))
if mask is None:
    return scores.softmax(dim=-1) @ v
return (
    scores.masked_fill(~mask, -20.0)
    .softmax(dim=-1)
    .masked_fill(~mask.any(-1, True), 0.0)
    @ v
)
