# Every token is chosen.
# caught by: blocks_bert_mask.places, blocks_bert_mask.shares
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
return torch.full_like(tokens, mask_id), tokens.clone()
