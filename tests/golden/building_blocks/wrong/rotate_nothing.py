# Vectors come back as they were.
# caught by: blocks_rotation.plane, blocks_rotation.relative, blocks_rotation.random
# region: building_blocks_positions.py, rotate, blocks rotation
return x.clone()
