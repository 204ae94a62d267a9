# The rows of letters.
# caught by: one_pair, circuit, previous
# region: induction_scores.py, previous_token_score, induction scores
letters = torch.arange(2, weights.size(-1), 2)
return weights[:, letters, letters - 1].mean(dim=-1)
