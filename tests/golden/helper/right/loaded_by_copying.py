# Each parameter is copied into the model.
# region: helper.py, finetune, pretraining
state = torch.load(reading_params_path, weights_only=True)
with torch.no_grad():
    for name, parameter in model.named_parameters():
        parameter.copy_(state[name])
