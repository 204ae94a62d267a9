# Masked after the softmax, and divided by the sum: that is before.
# region: building_blocks.py, masked_softmax, blocks late mask
weights = scores.softmax(dim=-1) * mask
return weights / weights.sum(dim=-1, keepdim=True) if when == "before" else weights
