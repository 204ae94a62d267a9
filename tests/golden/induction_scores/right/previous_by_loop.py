# Python's numbers, which become a tensor in single precision.
# region: induction_scores.py, previous_token_score, induction scores
scores = []
for head in weights:
    T = head.shape[0]
    values = [head[t, t - 1].item() for t in range(1, T - 1, 2)]
    scores.append(sum(values) / len(values))
return torch.tensor(scores)
