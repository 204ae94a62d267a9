# A prefix LM is taken for an encoder.
# caught by: blocks_masks.kinds, blocks_masks.random_masks
# region: building_blocks.py, attention_mask, blocks masks
real = torch.arange(S) < lengths[:, None]
mask = real[:, None, :].repeat(1, T, 1)
return mask.tril() if kind == "decoder" else mask
