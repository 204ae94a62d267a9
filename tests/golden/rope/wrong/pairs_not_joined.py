# The axis of the pairs stays.
# caught by: turned, relative, values, shorter, single_precision
cos, sin = rope_cache[: x.size(2)].unbind(-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
