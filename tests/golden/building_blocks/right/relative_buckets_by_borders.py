# Counts the borders that a distance has passed.
# region: building_blocks_positions.py, relative_buckets, blocks buckets
per_direction = n_buckets if causal else n_buckets // 2
half = per_direction // 2
borders = [float(n) for n in range(1, half)]
borders += [half * (max_distance / half) ** (r / half) for r in range(half)]
found = torch.empty_like(distances)
for place, distance in enumerate(distances.tolist()):
    far = max(-distance, 0) if causal else abs(distance)
    found[place] = sum(far >= border for border in borders)
    if distance > 0 and not causal:
        found[place] += per_direction
return found
