# In float32.
# region: building_blocks_positions.py, sinusoidal_positions, blocks sinusoids
t = torch.arange(T).float()[:, None]
omega = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
p = torch.zeros(T, d)
p[:, 0::2], p[:, 1::2] = torch.sin(t * omega), torch.cos(t * omega)
return p
