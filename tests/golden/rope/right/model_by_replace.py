# The config is left alone.
# region: helper.py, initialize_rope_model, rope
import dataclasses

attention_model = GPT(dataclasses.replace(mconf, rope=True))
