# Pairs of neighbours as complex numbers, as the hint says.
pairs = x.float() if x.dtype == torch.float16 else x
pairs = torch.view_as_complex(pairs.reshape(*x.shape[:-1], -1, 2))
turn = torch.view_as_complex(rope_cache[: x.shape[2]].contiguous())
return torch.view_as_real(pairs * turn).flatten(3).type_as(x)
