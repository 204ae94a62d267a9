# What torch.compile makes of the model is returned.
# region: helper.py, initialize_vanilla_model, finetuning
attention_model = torch.compile(GPT(mconf))
