# The cache is laid along the heads.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
# message of: turned, relative
cache = rope_cache[: x.size(1)].unsqueeze(1)
cos, sin = cache.unbind(-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
