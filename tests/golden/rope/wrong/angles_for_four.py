# Right for the example alone.
# region: attention.py, precompute_rotary_emb, rope
# caught by: any_angles, whole_model
theta = 100.0 ** -torch.arange(dim // 2)
angles = torch.outer(torch.arange(max_positions).float(), theta)
return torch.stack((angles.cos(), angles.sin()), dim=-1)
