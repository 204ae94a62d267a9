# The head shares the token embeddings.
# caught by: blocks_parameters.small, blocks_parameters.random
# region: building_blocks.py, count_parameters, blocks parameters
C, hs = config.n_embd, config.n_embd // config.n_head
linear, norm = C * C + C, 2 * C
attention = 4 * linear
if config.synthesizer:
    attention = 3 * linear + (hs + 1) * config.block_size
mlp = 8 * C * C + 5 * C
positions = 0 if config.rope else config.block_size * C
blocks = config.n_layer * (2 * norm + attention + mlp)
return config.vocab_size * C + positions + blocks + norm
