# 10 % of those that are not masked are replaced.
# caught by: blocks_bert_mask.shares
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
chosen = torch.rand(tokens.shape, generator=generator) < 0.15
masked = chosen & (torch.rand(tokens.shape, generator=generator) < 0.8)
changed = chosen & ~masked & (torch.rand(tokens.shape, generator=generator) < 0.1)
drawn = torch.randint(vocab_size, tokens.shape, generator=generator)
inputs = torch.where(masked, mask_id, torch.where(changed, drawn, tokens))
return inputs, torch.where(chosen, tokens, IGNORED)
