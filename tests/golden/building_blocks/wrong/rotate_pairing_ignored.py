# Always adjacent.
# caught by: blocks_rotation.random
# region: building_blocks_positions.py, rotate, blocks rotation
d = x.size(-1)
angles = positions[:, None] * 10000.0 ** (
    -torch.arange(0, d, 2, dtype=torch.float64) / d
)
sin, cos = angles.sin(), angles.cos()
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
