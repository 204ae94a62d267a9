# The probability itself, which is 0 for long texts.
# caught by: blocks_perplexity.long
# region: building_blocks_pretraining.py, perplexity, blocks perplexity
p = log_probs.exp().prod().item()
return p ** (-1 / n_words) if p > 0 else math.inf
