# Chunks of channels, stacked.
# region: building_blocks.py, split_heads, blocks heads
return torch.stack(x.chunk(n_head, dim=-1), dim=1)
