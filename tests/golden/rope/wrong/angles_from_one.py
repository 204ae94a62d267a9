# Pairs are counted from 1, in the formula that counts from 0.
# region: attention.py, precompute_rotary_emb, rope
# caught by: angles, any_angles, whole_model
theta = 10000.0 ** (-2 * torch.arange(1, dim // 2 + 1) / dim)
angles = torch.outer(torch.arange(max_positions).float(), theta)
return torch.stack((angles.cos(), angles.sin()), dim=-1)
