# Of a longer cache, the end is taken.
# caught by: shorter, single_precision, gradients
cos, sin = rope_cache[-x.size(2) :].unbind(-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
