# Turned the other way.
# caught by: blocks_rotation.plane
# region: building_blocks_positions.py, rotate, blocks rotation
d = x.size(-1)
angles = positions[:, None] * 10000.0 ** (
    -torch.arange(0, d, 2, dtype=torch.float64) / d
)
sin, cos = -angles.sin(), angles.cos()
if pairing == "adjacent":
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
a, b = x.chunk(2, dim=-1)
return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
