# k runs from 1 to d/2, as the slide's vector has it.
# caught by: blocks_sinusoids.first_rows
# region: building_blocks_positions.py, sinusoidal_positions, blocks sinusoids
omega = 10000.0 ** (-torch.arange(2, d + 2, 2, dtype=torch.float64) / d)
angles = torch.arange(T, dtype=torch.float64)[:, None] * omega
return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
