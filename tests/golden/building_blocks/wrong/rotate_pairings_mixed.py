# Angles repeated for one pairing, halves exchanged for the other.
# caught by: blocks_rotation.relative
# region: building_blocks_positions.py, rotate, blocks rotation
d = x.size(-1)
theta = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
angles = (positions[:, None] * theta).repeat_interleave(2, dim=-1)
turned = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], dim=-1)
return x * angles.cos() + turned * angles.sin()
