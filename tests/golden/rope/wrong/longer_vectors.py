# Sine and cosine are added up wrongly: lengths change, position 0 does not.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
# message of: turned
cos, sin = rope_cache[: x.size(2)].unbind(-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * cos + b * sin), dim=-1).flatten(-2) + 0 * x
