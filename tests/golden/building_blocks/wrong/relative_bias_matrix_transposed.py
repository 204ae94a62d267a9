# i - j in place of j - i.
# caught by: blocks_relative_bias.places
# region: building_blocks_positions.py, relative_bias_matrix, blocks relative bias
k = biases.size(1) // 2
t = torch.arange(T)
return biases[:, (t[:, None] - t[None, :]).clamp(-k, k) + k]
