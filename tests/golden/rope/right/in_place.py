# Writes into a copy.
cos, sin = rope_cache[: x.size(2), :, 0], rope_cache[: x.size(2), :, 1]
turned = x.clone()
turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
turned[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
return turned
