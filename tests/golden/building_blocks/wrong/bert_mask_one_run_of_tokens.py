# Neighbours are chosen together, as in span corruption.
# caught by: blocks_bert_mask.shares
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
B, T = tokens.shape
length = round(0.15 * T)
starts = torch.randint(T - length + 1, (B, 1), generator=generator)
chosen = (torch.arange(T) >= starts) & (torch.arange(T) < starts + length)
kind = torch.rand(tokens.shape, generator=generator)
drawn = torch.randint(vocab_size, tokens.shape, generator=generator)
inputs = torch.where(chosen & (kind < 0.8), mask_id, tokens)
inputs = torch.where(chosen & (kind >= 0.9), drawn, inputs)
return inputs, torch.where(chosen, tokens, IGNORED)
