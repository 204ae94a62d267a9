# Pairs of the first half with the second, as many libraries do it.
T, hs = x.shape[-2:]
cos = torch.cat((rope_cache[:T, :, 0], rope_cache[:T, :, 0]), dim=-1)
sin = torch.cat((rope_cache[:T, :, 1], rope_cache[:T, :, 1]), dim=-1)
half = torch.cat((-x[..., hs // 2 :], x[..., : hs // 2]), dim=-1)
return x * cos + half * sin
