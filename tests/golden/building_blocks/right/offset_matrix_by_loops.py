# Pair by pair.
# region: building_blocks_positions.py, offset_matrix, blocks offsets
M = torch.zeros(d, d, dtype=torch.float64)
for k in range(0, d, 2):
    angle = offset / 10000 ** (k / d)
    M[k, k] = M[k + 1, k + 1] = math.cos(angle)
    M[k, k + 1], M[k + 1, k] = math.sin(angle), -math.sin(angle)
return M
