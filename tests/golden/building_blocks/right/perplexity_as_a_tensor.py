# A tensor of no axes.
# region: building_blocks_pretraining.py, perplexity, blocks perplexity
return torch.exp(-log_probs.mean() * len(log_probs) / n_words)
