# No gradient flows through.
# caught by: gradients
cos, sin = rope_cache[: x.size(2)].unbind(-1)
a, b = x.detach()[..., 0::2], x.detach()[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
