# The order is ignored, the other way round.
# caught by: blocks_late_mask.example, blocks_late_mask.hidden_scores, blocks_late_mask.random
# region: building_blocks.py, masked_softmax, blocks late mask
return scores.softmax(dim=-1) * mask
