# A view straight to (B, n_head, T, hs) mixes positions and channels.
# caught by: blocks_heads.channels
# region: building_blocks.py, split_heads, blocks heads
B, T, C = x.shape
return x.reshape(B, n_head, T, C // n_head)
