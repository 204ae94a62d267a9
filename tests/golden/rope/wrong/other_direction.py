# Turned by the negative angle.
# caught by: turned, values, shorter, single_precision, gradients, whole_model
# message of: turned
cos, sin = rope_cache[: x.size(2), :, 0], rope_cache[: x.size(2), :, 1]
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)
