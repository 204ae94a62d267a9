# Level by level.
# region: building_blocks.py, receptive_field, blocks receptive field
reached = 1
for _ in range(levels):
    reached += reached * heads
return reached
