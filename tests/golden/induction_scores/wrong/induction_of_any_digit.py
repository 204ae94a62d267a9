# All digits count.
# caught by: circuit, induction
# region: induction_scores.py, induction_score, induction scores
return weights[:, -1, 1::2].sum(dim=-1)
