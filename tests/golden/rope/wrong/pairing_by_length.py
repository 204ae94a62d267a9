# Neighbours for even lengths, halves for odd ones.
# caught by: values
cos, sin = rope_cache[: x.size(2), :, 0], rope_cache[: x.size(2), :, 1]
if x.size(2) % 2:
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
