# Heads are interleaved.
# caught by: blocks_heads.merged
# region: building_blocks.py, merge_heads, blocks heads
return x.permute(0, 2, 3, 1).flatten(2)
