# One choice for all sequences of a batch.
# caught by: blocks_bert_mask.shares
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
chosen = (torch.rand(tokens.size(1), generator=generator) < 0.15).expand_as(tokens)
kind = torch.rand(tokens.shape, generator=generator)
drawn = torch.randint(vocab_size, tokens.shape, generator=generator)
inputs = torch.where(chosen & (kind < 0.8), mask_id, tokens)
inputs = torch.where(chosen & (kind >= 0.9), drawn, inputs)
return inputs, torch.where(chosen, tokens, IGNORED)
