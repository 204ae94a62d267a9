# The decoder does not see its own position.
# caught by: blocks_masks.kinds
# region: building_blocks.py, attention_mask, blocks masks
real = torch.arange(S) < lengths[:, None]
mask = real[:, None, :].repeat(1, T, 1)
if kind == "prefix-lm":
    return mask.tril() | mask & (torch.arange(S) < prefixes[:, None, None])
return mask.tril(-1) if kind == "decoder" else mask
