# The configuration is changed, by name.
# region: helper.py, initialize_synthesizer_model, part g
setattr(mconf, "synthesizer", True)
attention_model = GPT(mconf)
