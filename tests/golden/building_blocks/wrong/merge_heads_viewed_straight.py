# Not transposed before the view.
# caught by: blocks_heads.merged
# region: building_blocks.py, merge_heads, blocks heads
B, n_head, T, hs = x.shape
return x.reshape(B, T, n_head * hs)
