# The first position after the prefix is seen by all.
# caught by: blocks_masks.kinds, blocks_masks.random_masks
# region: building_blocks.py, attention_mask, blocks masks
real = torch.arange(S) < lengths[:, None]
mask = real[:, None, :].repeat(1, T, 1)
if kind == "prefix-lm":
    return mask.tril() | mask & (torch.arange(S) <= prefixes[:, None, None])
return mask.tril() if kind == "decoder" else mask
