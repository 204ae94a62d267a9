# Characters per token, multiplied.
# caught by: blocks_perplexity.bits, blocks_perplexity.any_bits
# region: building_blocks_pretraining.py, bits_per_character, blocks perplexity
return loss * characters / tokens / math.log(2)
