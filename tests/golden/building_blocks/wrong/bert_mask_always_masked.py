# Every chosen token is masked.
# caught by: blocks_bert_mask.shares
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
chosen = torch.rand(tokens.shape, generator=generator) < 0.15
inputs = torch.where(chosen, mask_id, tokens)
return inputs, torch.where(chosen, tokens, IGNORED)
