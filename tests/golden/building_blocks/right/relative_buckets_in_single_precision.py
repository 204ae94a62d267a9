# As T5 writes it, in single precision.
# region: building_blocks_positions.py, relative_buckets, blocks buckets
found = torch.zeros_like(distances)
before = -distances
if causal:
    before = before.clamp(min=0)
else:
    n_buckets //= 2
    found = found + (before < 0) * n_buckets
    before = before.abs()
half = n_buckets // 2
far = (
    torch.log(before.float() / half)
    / math.log(max_distance / half)
    * (n_buckets - half)
)
far = half + far.clamp(min=0.0).long()
return found + torch.where(before < half, before, far.clamp(max=n_buckets - 1))
