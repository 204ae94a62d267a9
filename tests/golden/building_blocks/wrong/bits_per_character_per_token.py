# Tokens are taken for characters.
# caught by: blocks_perplexity.bits, blocks_perplexity.any_bits
# region: building_blocks_pretraining.py, bits_per_character, blocks perplexity
return loss / math.log(2)
