# All levels look equally far back.
# caught by: blocks_receptive_field.reached
# region: building_blocks.py, looks_back, blocks receptive field
return list(range(1, heads + 1))
