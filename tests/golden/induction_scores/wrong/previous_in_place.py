# Scales its argument.
# caught by: one_pair, circuit, previous
# region: induction_scores.py, previous_token_score, induction scores
weights *= 2
digits = torch.arange(1, weights.size(-1), 2)
return weights[:, digits, digits - 1].mean(dim=-1) / 2
