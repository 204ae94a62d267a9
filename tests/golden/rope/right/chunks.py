# Halves again, by chunk and cat.
cos, sin = rope_cache[: x.size(2)].unbind(-1)
first, second = x.chunk(2, dim=-1)
return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
