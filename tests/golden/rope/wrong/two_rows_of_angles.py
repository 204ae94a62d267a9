# Cosines and sines are laid side by side.
# region: attention.py, precompute_rotary_emb, rope
# caught by: angles, any_angles
theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
angles = torch.outer(torch.arange(max_positions).float(), theta)
return torch.cat((angles.cos(), angles.sin()), dim=-1)
