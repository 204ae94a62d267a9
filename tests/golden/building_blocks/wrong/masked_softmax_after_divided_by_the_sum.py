# Weights are made to sum to one.
# caught by: blocks_late_mask.example, blocks_late_mask.hidden_scores, blocks_late_mask.random
# region: building_blocks.py, masked_softmax, blocks late mask
if when == "before":
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
weights = scores.softmax(dim=-1) * mask
return weights / weights.sum(dim=-1, keepdim=True)
