# The softmax written out, with a bias of -inf.
# region: building_blocks.py, masked_softmax, blocks late mask
shifted = scores - scores.amax(dim=-1, keepdim=True)
if when == "before":
    hidden = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    shifted = scores + hidden
    shifted = shifted - shifted.amax(dim=-1, keepdim=True)
weights = shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)
return weights * mask if when == "after" else weights
