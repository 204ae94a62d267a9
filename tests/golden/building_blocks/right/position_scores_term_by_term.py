# Term by term.
# region: building_blocks_positions.py, position_scores, blocks add or concatenate
scores = x @ x.T + p @ p.T
return scores + x @ p.T + p @ x.T if how == "add" else scores
