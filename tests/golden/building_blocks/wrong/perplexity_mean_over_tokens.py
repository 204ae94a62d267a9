# Tokens are taken for words.
# caught by: blocks_perplexity.uniform
# region: building_blocks_pretraining.py, perplexity, blocks perplexity
return math.exp(-log_probs.mean().item())
