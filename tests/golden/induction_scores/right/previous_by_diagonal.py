# Every second entry of the diagonal below the main one.
# region: induction_scores.py, previous_token_score, induction scores
return weights.diagonal(offset=-1, dim1=1, dim2=2)[:, ::2].mean(dim=1)
