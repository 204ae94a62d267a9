# Halves are paired, by angles that are laid out for neighbours: no pair keeps its length.
# caught by: relative, values, shorter, single_precision, gradients, whole_model
cache = rope_cache[: x.size(2)]
cos = cache[..., 0].repeat_interleave(2, dim=-1)
sin = cache[..., 1].repeat_interleave(2, dim=-1)
first, second = x.chunk(2, dim=-1)
return x * cos + torch.cat((-second, first), dim=-1) * sin
