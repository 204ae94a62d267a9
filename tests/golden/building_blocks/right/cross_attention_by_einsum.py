# Row by row, by einsum.
# region: building_blocks.py, cross_attention, blocks masks
scores = torch.einsum("td,de,fe,sf->ts", Z, Q, K, H)
weights = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
return (weights / weights.sum(dim=1, keepdim=True)) @ H @ V
