# The parameters go to a model that is not trained.
# caught by: pretraining.finetune_configuration, pretraining.loads_pretrained
# region: helper.py, finetune, pretraining
GPT(model.config).load_state_dict(torch.load(reading_params_path, weights_only=True))
