# Cosines and sines are 0 everywhere.
# caught by: angles, any_angles, whole_model
# region: attention.py, precompute_rotary_emb, rope
return torch.zeros(max_positions, dim // 2, 2)
