# Pair by pair.
# region: building_blocks_positions.py, relative_bias_matrix, blocks relative bias
k = biases.size(1) // 2
rows = [[biases[:, k + min(max(j - i, -k), k)] for j in range(T)] for i in range(T)]
return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
