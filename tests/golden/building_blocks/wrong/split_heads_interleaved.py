# Channel c goes to head c % n_head.
# caught by: blocks_heads.channels
# region: building_blocks.py, split_heads, blocks heads
B, T, C = x.shape
return x.view(B, T, C // n_head, n_head).permute(0, 3, 1, 2)
