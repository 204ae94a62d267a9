# A matrix of 2 x 2 for each position and pair.
cos, sin = rope_cache[: x.size(2), :, 0], rope_cache[: x.size(2), :, 1]
turn = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
pairs = x.unflatten(-1, (-1, 2))
return torch.einsum("tkij,bhtkj->bhtki", turn, pairs).flatten(-2)
