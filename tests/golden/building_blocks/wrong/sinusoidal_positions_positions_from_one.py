# The first position is 1.
# caught by: blocks_sinusoids.first_rows
# region: building_blocks_positions.py, sinusoidal_positions, blocks sinusoids
omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
angles = torch.arange(1, T + 1, dtype=torch.float64)[:, None] * omega
return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
