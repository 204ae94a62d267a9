# The vanilla model has a layer less.
# caught by: finetuning.vanilla_model, finetuning.model_output
# region: helper.py, initialize_vanilla_model, finetuning
mconf.n_layer -= 1
attention_model = GPT(mconf)
