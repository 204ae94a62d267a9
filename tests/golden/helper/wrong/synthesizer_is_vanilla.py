# The synthesizer model is the vanilla one.
# caught by: synthesizer.uses_synthesizer, synthesizer.whole_model
# region: helper.py, initialize_synthesizer_model, synthesizer
attention_model = GPT(mconf)
