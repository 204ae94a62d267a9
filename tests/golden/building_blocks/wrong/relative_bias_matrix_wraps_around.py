# Far distances wrap around.
# caught by: blocks_relative_bias.random
# region: building_blocks_positions.py, relative_bias_matrix, blocks relative bias
k = biases.size(1) // 2
t = torch.arange(T)
return biases[:, (t[None, :] - t[:, None] + k) % (2 * k + 1)]
