# Searches from the left.
# region: induction_scores.py, induction_score, induction scores
for i in range(len(tokens) - 1):
    if tokens[i] == tokens[-1]:
        return weights[:, len(tokens) - 1, i + 1]
raise ValueError("the last letter did not occur before")
