# The configuration is changed once the model is made.
# caught by: synthesizer.uses_synthesizer, synthesizer.whole_model
# region: helper.py, initialize_synthesizer_model, synthesizer
attention_model = GPT(mconf)
mconf.synthesizer = True
