# The earlier letter itself.
# caught by: one_pair, circuit, induction
# region: induction_scores.py, induction_score, induction scores
earlier = tokens[:-1].eq(tokens[-1]).nonzero().item()
return weights[:, -1, earlier]
