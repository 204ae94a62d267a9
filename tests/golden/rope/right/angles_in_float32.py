# All in float32, by polar and a power of the other sign.
# region: attention.py, precompute_rotary_emb, rope
theta = 1.0 / (10000 ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
t = torch.arange(max_positions).float()
angles = torch.outer(t, theta).float()
polar = torch.polar(torch.ones_like(angles), angles)
return torch.view_as_real(polar)
