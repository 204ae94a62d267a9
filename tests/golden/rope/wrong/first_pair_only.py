# Only the first pair of each head is turned.
# caught by: relative, values, shorter, single_precision, gradients, whole_model
cos, sin = rope_cache[: x.size(2), 0, 0, None], rope_cache[: x.size(2), 0, 1, None]
a, b = x[..., 0:1], x[..., 1:2]
return torch.cat((a * cos - b * sin, a * sin + b * cos, x[..., 2:]), dim=-1)
