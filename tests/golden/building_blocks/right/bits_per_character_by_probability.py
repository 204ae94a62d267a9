# The bits of the whole text, by logarithms of base 2.
# region: building_blocks_pretraining.py, bits_per_character, blocks perplexity
bits_per_token = loss * math.log2(math.e)
return bits_per_token * tokens / characters
