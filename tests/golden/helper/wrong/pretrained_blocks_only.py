# Embeddings and head stay as they were.
# caught by: pretraining.finetune_configuration, pretraining.loads_pretrained
# region: helper.py, finetune, pretraining
state = torch.load(reading_params_path, map_location="cpu", weights_only=True)
blocks = {name: value for name, value in state.items() if name.startswith("blocks")}
model.load_state_dict(blocks, strict=False)
