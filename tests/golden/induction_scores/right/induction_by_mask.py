# A mask of the positions behind the same token.
# region: induction_scores.py, induction_score, induction scores
same = (tokens[:-1] == tokens[-1]).to(weights.dtype)
behind = torch.cat([torch.zeros(1, dtype=weights.dtype), same])
return (weights[:, -1] * behind).sum(dim=-1)
