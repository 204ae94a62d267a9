# Term by term.
# region: building_blocks.py, position_scores, part add_or_concatenate
scores = x @ x.T + p @ p.T
return scores + x @ p.T + p @ x.T if how == "add" else scores
