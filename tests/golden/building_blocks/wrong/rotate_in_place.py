# Changes its argument.
# caught by: blocks_rotation.plane
# region: building_blocks_positions.py, rotate, blocks rotation
d = x.size(-1)
angles = positions[:, None] * 10000.0 ** (
    -torch.arange(0, d, 2, dtype=torch.float64) / d
)
sin, cos = angles.sin(), angles.cos()
even, odd = (slice(0, d, 2), slice(1, d, 2))
if pairing == "half":
    even, odd = slice(0, d // 2), slice(d // 2, d)
a, b = x[..., even].clone(), x[..., odd].clone()
x[..., even], x[..., odd] = a * cos - b * sin, a * sin + b * cos
return x
