# Positions come before heads.
# caught by: blocks_heads.channels
# region: building_blocks.py, split_heads, blocks heads
B, T, C = x.shape
return x.view(B, T, n_head, C // n_head)
