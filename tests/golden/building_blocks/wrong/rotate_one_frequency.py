# All pairs turn as fast.
# caught by: blocks_rotation.random
# region: building_blocks_positions.py, rotate, blocks rotation
sin, cos = positions.double().sin()[:, None], positions.double().cos()[:, None]
if pairing == "adjacent":
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
a, b = x.chunk(2, dim=-1)
return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
