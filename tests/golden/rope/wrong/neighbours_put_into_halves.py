# Neighbours are turned, and come back in halves: coordinates change their places.
# caught by: relative, values, shorter, single_precision, gradients
# message of: relative
cos, sin = rope_cache[: x.size(2), :, 0], rope_cache[: x.size(2), :, 1]
a, b = x[..., 0::2], x[..., 1::2]
return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
