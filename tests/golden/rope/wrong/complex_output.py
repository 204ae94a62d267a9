# The product stays complex.
# caught by: turned, relative, values, shorter, single_precision
pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
return pairs * torch.view_as_complex(rope_cache[: x.size(2)].contiguous())
