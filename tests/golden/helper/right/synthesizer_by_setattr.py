# The configuration is changed, by name.
# region: helper.py, initialize_synthesizer_model, synthesizer
setattr(mconf, "synthesizer", True)
attention_model = GPT(mconf)
