# Concatenates positions in place of channels.
# caught by: blocks_add_or_concatenate.terms
# region: building_blocks_positions.py, position_scores, blocks add or concatenate
z = x + p if how == "add" else torch.cat([x, p], dim=0)
return z @ z.T
