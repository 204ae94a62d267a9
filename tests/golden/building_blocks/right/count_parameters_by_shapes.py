# The shapes of all layers, one by one.
# region: building_blocks.py, count_parameters, blocks parameters
C, T, V = config.n_embd, config.block_size, config.vocab_size
shapes = [(V, C), (C, V), (2, C)]
if not config.rope:
    shapes.append((T, C))
block = [(2, C), (2, C), (C + 1, 4 * C), (4 * C + 1, C)]
if config.synthesizer:
    block += [(C + 1, C)] * 3 + [(C // config.n_head, T), (1, T)]
else:
    block += [(C + 1, C)] * 4
return sum(rows * columns for rows, columns in shapes + block * config.n_layer)
