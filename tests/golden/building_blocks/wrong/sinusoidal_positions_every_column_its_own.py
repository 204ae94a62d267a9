# Cosines have frequencies of their own, as in the lecture's plot.
# caught by: blocks_sinusoids.first_rows
# region: building_blocks_positions.py, sinusoidal_positions, blocks sinusoids
columns = torch.arange(d, dtype=torch.float64)
angles = torch.arange(T, dtype=torch.float64)[:, None] * 10000.0 ** (-columns / d)
return torch.where(columns % 2 == 0, angles.sin(), angles.cos())
