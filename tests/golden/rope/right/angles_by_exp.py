# The power as an exponential of a logarithm, and positions as a column.
# region: attention.py, precompute_rotary_emb, rope
theta = torch.exp(torch.arange(dim // 2) * (-2 * math.log(10000.0) / dim))
angles = torch.arange(max_positions).unsqueeze(1) * theta
return torch.stack([torch.cos(angles), torch.sin(angles)], dim=2)
