# The cache must be as long as the sequence.
# caught by: shorter, single_precision, gradients, whole_model
cos, sin = rope_cache.unbind(-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
