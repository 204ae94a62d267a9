# Only inputs of four pairs.
# caught by: one_pair, previous
# region: induction_scores.py, previous_token_score, induction scores
digits = torch.tensor([1, 3, 5, 7])
digits = digits[digits < weights.size(-1)]
return weights[:, digits, digits - 1].sum(dim=-1) / 4
