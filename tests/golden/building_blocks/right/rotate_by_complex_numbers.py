# Products of complex numbers.
# region: building_blocks_positions.py, rotate, blocks rotation
d = x.shape[-1]
theta = 1 / 10000 ** (torch.arange(0, d, 2).double() / d)
turn = torch.polar(torch.ones(()).double(), positions[:, None] * theta)
if pairing == "adjacent":
    z = torch.view_as_complex(x.double().unflatten(-1, (d // 2, 2)).contiguous()) * turn
    return torch.view_as_real(z).flatten(-2).to(x.dtype)
z = torch.complex(*x.double().chunk(2, dim=-1)) * turn
return torch.cat([z.real, z.imag], dim=-1).to(x.dtype)
