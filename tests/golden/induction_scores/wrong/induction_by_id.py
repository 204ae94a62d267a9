# Takes ids for places.
# caught by: circuit, induction
# region: induction_scores.py, induction_score, induction scores
return weights[:, -1, int(2 * tokens[-1] + 1)]
