# Exactly 15 % of all tokens are chosen.
# region: building_blocks_pretraining.py, bert_mask, blocks bert mask
count = round(0.15 * tokens.numel())
order = torch.randperm(tokens.numel(), generator=generator)
inputs, targets = tokens.flatten().clone(), torch.full((tokens.numel(),), IGNORED)
chosen = order[:count]
targets[chosen] = inputs[chosen]
masked, drawn = (
    chosen[: round(0.8 * count)],
    chosen[round(0.8 * count) : round(0.9 * count)],
)
inputs[masked] = mask_id
inputs[drawn] = torch.randint(vocab_size, drawn.shape, generator=generator)
return inputs.view_as(tokens), targets.view_as(tokens)
