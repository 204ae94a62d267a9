# The cross terms are left out of the sum.
# caught by: blocks_add_or_concatenate.terms
# region: building_blocks_positions.py, position_scores, blocks add or concatenate
return x @ x.T + p @ p.T
