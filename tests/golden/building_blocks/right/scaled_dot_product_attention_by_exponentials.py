# Exponentials, masked, and divided by their sum.
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
scores = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
weights = torch.exp(scores - scores.amax(-1, keepdim=True))
if mask is not None:
    weights = weights * mask
return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30) @ v
