# Heads, one after another.
# region: building_blocks.py, merge_heads, blocks heads
return torch.cat(list(x.unbind(dim=1)), dim=-1)
