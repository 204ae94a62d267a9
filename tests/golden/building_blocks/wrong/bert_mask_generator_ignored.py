# Draws from torch's own generator.
# caught by: blocks_bert_mask.randomness
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
chosen = torch.rand(tokens.shape) < 0.15
kind = torch.rand(tokens.shape)
drawn = torch.randint(vocab_size, tokens.shape)
inputs = torch.where(chosen & (kind < 0.8), mask_id, tokens)
inputs = torch.where(chosen & (kind >= 0.9), drawn, inputs)
return inputs, torch.where(chosen, tokens, IGNORED)
