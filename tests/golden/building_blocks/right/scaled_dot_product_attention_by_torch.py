# By torch, with the result of a fully masked row repaired.
# region: building_blocks.py, scaled_dot_product_attention, blocks attention
if mask is None:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
rows = mask.any(dim=-1, keepdim=True)
y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask | ~rows)
return torch.where(rows, y, 0.0)
