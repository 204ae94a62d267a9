# Distances beyond the last range have buckets of their own.
# caught by: blocks_buckets.t5, blocks_buckets.order, blocks_buckets.random
# region: building_blocks_positions.py, relative_buckets, blocks buckets
b = n_buckets if causal else n_buckets // 2
exact = b // 2
far = -distances.clamp(max=0) if causal else distances.abs()
ratio = (far.double() / exact).clamp(min=1.0).log() / math.log(max_distance / exact)
wide = exact + (ratio * (b - exact)).long()
buckets = torch.where(far < exact, far, wide)
return buckets if causal else buckets + b * (distances > 0)
