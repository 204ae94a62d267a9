# Other levels for the digits.
# region: building_blocks.py, looks_back, blocks receptive field
distance = 3**level if heads == 2 else (heads + 1) ** level
return [distance * head for head in range(heads, 0, -1)]
