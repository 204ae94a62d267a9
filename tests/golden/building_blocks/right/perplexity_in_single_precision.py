# The mean is taken in float32, which can hold it.
# region: building_blocks_pretraining.py, perplexity, blocks perplexity
return torch.exp(-log_probs.float().sum() / n_words).item()
