# Neighbours; each angle is repeated for its two coordinates, the other one of a pair is fetched.
cache = rope_cache[: x.size(2)]
cos = cache[..., 0].repeat_interleave(2, dim=-1)
sin = cache[..., 1].repeat_interleave(2, dim=-1)
other = torch.empty_like(x)
other[..., 0::2] = -x[..., 1::2]
other[..., 1::2] = x[..., 0::2]
return x * cos + other * sin
