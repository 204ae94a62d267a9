# The other variant.
# region: helper.py, initialize_rope_model, rope
# caught by: uses_rope, whole_model
mconf.synthesizer = True
attention_model = GPT(mconf)
