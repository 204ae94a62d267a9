# Always the first digit.
# caught by: circuit, induction
# region: induction_scores.py, induction_score, induction scores
return weights[:, -1, 1]
