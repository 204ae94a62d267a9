# One of the cross terms, twice.
# caught by: blocks_add_or_concatenate.random
# region: building_blocks_positions.py, position_scores, blocks add or concatenate
scores = x @ x.T + p @ p.T
return scores + 2 * x @ p.T if how == "add" else scores
