# The first head looks at its own position.
# caught by: blocks_receptive_field.reached
# region: building_blocks.py, looks_back, blocks receptive field
return [digit * (heads + 1) ** level for digit in range(heads)]
