# The model is made before rope is chosen.
# region: helper.py, initialize_rope_model, rope
# caught by: uses_rope, whole_model
attention_model = GPT(mconf)
mconf.rope = True
