# Each level adds its heads.
# caught by: blocks_receptive_field.small
# region: building_blocks.py, receptive_field, blocks receptive field
return heads * levels + 1
