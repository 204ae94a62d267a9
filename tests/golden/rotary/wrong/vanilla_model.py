# The model is made before rope is chosen.
# region: helper.py, initialize_rope_model, part h
# caught by: uses_rope, whole_model
attention_model = GPT(mconf)
mconf.rope = True
