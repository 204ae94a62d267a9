# rotate_half, as most libraries have it.
# region: building_blocks_positions.py, rotate, blocks rotation
d = x.shape[-1]
half = pairing == "half"
order = (
    torch.arange(d)
    if half
    else torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
)
x = x[..., order]
angles = positions[:, None] * 10000.0 ** (-torch.arange(0, d, 2).double() / d)
cos, sin = (angles.cos().repeat(1, 2), angles.sin().repeat(1, 2))
turned = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], dim=-1)
y = x * cos + turned * sin
back = torch.empty_like(y)
back[..., order] = y
return back
