# The vanilla model is a synthesizer.
# caught by: finetuning.vanilla_model, finetuning.model_output
# region: helper.py, initialize_vanilla_model, finetuning
mconf.synthesizer = True
attention_model = GPT(mconf)
