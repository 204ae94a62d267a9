# All angles are 0: nothing is turned.
# caught by: angles, any_angles, whole_model
# message of: angles
# region: attention.py, precompute_rotary_emb, rope
return torch.tensor([1.0, 0.0]).expand(max_positions, dim // 2, 2)
