# The sine comes before the cosine.
# region: attention.py, precompute_rotary_emb, rope
# caught by: angles, any_angles, whole_model
# message of: angles
theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
angles = torch.outer(torch.arange(max_positions).float(), theta)
return torch.stack((angles.sin(), angles.cos()), dim=-1)
