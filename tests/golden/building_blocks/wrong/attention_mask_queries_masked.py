# Queries are masked in place of keys.
# caught by: blocks_masks.kinds
# region: building_blocks.py, attention_mask, blocks masks
real = torch.arange(T) < lengths[:, None]
mask = real[:, :, None].repeat(1, 1, S)
if kind == "prefix-lm":
    return mask.tril() | mask & (torch.arange(S) < prefixes[:, None, None])
return mask.tril() if kind == "decoder" else mask
