# With masks of probabilities, one within the other.
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
def draw(p):
    return torch.bernoulli(torch.full(tokens.shape, p), generator=generator).bool()


inputs, chosen = tokens.clone(), draw(0.15)
targets = tokens.masked_fill(~chosen, IGNORED)
masked = chosen & draw(0.8)
inputs[masked] = mask_id
drawn = chosen & ~masked & draw(0.5)
inputs[drawn] = torch.randint(vocab_size, tokens.shape, generator=generator)[drawn]
return inputs, targets
