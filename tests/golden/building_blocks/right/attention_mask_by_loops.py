# Position by position.
# region: building_blocks.py, attention_mask, blocks masks
mask = torch.zeros(len(lengths), T, S, dtype=torch.bool)
for b, length in enumerate(lengths.tolist()):
    for t in range(T):
        mask[b, t, : min(length, t + 1) if kind == "decoder" else length] = True
return mask
