# Right for two heads only.
# caught by: blocks_receptive_field.any_reach
# region: building_blocks.py, looks_back, blocks receptive field
return [digit * 3**level for digit in range(1, heads + 1)]
