# Two to the power of nats.
# caught by: blocks_perplexity.uniform
# region: building_blocks_pretraining.py, perplexity, blocks perplexity
return 2 ** (-log_probs.sum().item() / n_words)
