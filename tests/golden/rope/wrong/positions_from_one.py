# Position 0 is turned, too: in scores nothing would show.
# region: attention.py, precompute_rotary_emb, rope
# caught by: angles, any_angles
# message of: angles
theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
angles = torch.outer(torch.arange(1, max_positions + 1).float(), theta)
return torch.stack((angles.cos(), angles.sin()), dim=-1)
