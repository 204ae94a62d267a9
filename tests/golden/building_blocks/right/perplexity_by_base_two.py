# By way of bits.
# region: building_blocks_pretraining.py, perplexity, blocks perplexity
bits = -log_probs.sum().item() / math.log(2)
return 2 ** (bits / n_words)
