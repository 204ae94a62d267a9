# Targets are the new tokens, not the original ones.
# caught by: blocks_bert_mask.places
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
chosen = torch.rand(tokens.shape, generator=generator) < 0.15
kind = torch.rand(tokens.shape, generator=generator)
drawn = torch.randint(vocab_size, tokens.shape, generator=generator)
inputs = torch.where(chosen & (kind < 0.8), mask_id, tokens)
inputs = torch.where(chosen & (kind >= 0.9), drawn, inputs)
return inputs, torch.where(chosen, inputs, IGNORED)
