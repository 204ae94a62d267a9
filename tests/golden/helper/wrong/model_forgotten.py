# The model is assigned to another name, so that None is returned.
# caught by: finetuning.vanilla_model, finetuning.model_output, pretraining.pretrain_configuration
# message of: finetuning.model_output, pretraining.pretrain_configuration
# region: helper.py, initialize_vanilla_model, finetuning
model = GPT(mconf)
