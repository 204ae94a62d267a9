# The cache is empty.
# caught by: angles, any_angles, whole_model
# region: attention.py, precompute_rotary_emb, rope
return torch.zeros(0, dim // 2, 2)
