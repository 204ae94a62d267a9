# By torch.
# region: building_blocks.py, layer_norm, blocks layers
return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias, eps)
