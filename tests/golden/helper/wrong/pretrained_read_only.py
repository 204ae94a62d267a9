# The parameters are read and not given to the model.
# caught by: pretraining.finetune_configuration, pretraining.loads_pretrained
# region: helper.py, finetune, pretraining
torch.load(reading_params_path, map_location="cpu", weights_only=True)
