# Position by position.
# region: building_blocks.py, attention_mask, blocks masks
mask = torch.zeros(len(lengths), T, S, dtype=torch.bool)
for b, length in enumerate(lengths.tolist()):
    for t in range(T):
        seen = t + 1 if kind == "decoder" else length
        if kind == "prefix-lm":
            seen = max(t + 1, int(prefixes[b]))
        mask[b, t, : min(length, seen)] = True
return mask
