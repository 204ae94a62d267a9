# Padding is seen.
# caught by: blocks_masks.kinds, blocks_masks.random_masks
# region: building_blocks.py, attention_mask, blocks masks
mask = torch.ones(len(lengths), T, S, dtype=torch.bool)
if kind == "prefix-lm":
    return mask.tril() | mask & (torch.arange(S) < prefixes[:, None, None])
return mask.tril() if kind == "decoder" else mask
