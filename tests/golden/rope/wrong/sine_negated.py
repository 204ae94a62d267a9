# The sine of the negative angle: in scores nothing shows but the direction.
# region: attention.py, precompute_rotary_emb, rope
# caught by: angles, any_angles
# message of: angles
theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
angles = torch.outer(torch.arange(max_positions).float(), theta)
return torch.stack((angles.cos(), -angles.sin()), dim=-1)
