# Tokens drawn are those of the batch in another order.
# caught by: blocks_bert_mask.shares
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
chosen = torch.rand(tokens.shape, generator=generator) < 0.15
kind = torch.rand(tokens.shape, generator=generator)
order = torch.randperm(tokens.numel(), generator=generator)
drawn = tokens.flatten()[order].view_as(tokens)
inputs = torch.where(chosen & (kind < 0.8), mask_id, tokens)
inputs = torch.where(chosen & (kind >= 0.9), drawn, inputs)
return inputs, torch.where(chosen, tokens, IGNORED)
