# Heads look at later positions.
# caught by: blocks_receptive_field.reached
# region: building_blocks.py, looks_back, blocks receptive field
return [-digit * (heads + 1) ** level for digit in range(1, heads + 1)]
