# Nats per bit, multiplied.
# caught by: blocks_perplexity.bits, blocks_perplexity.any_bits
# region: building_blocks_pretraining.py, bits_per_character, blocks perplexity
return loss * tokens / characters * math.log(2)
