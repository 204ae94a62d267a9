# From the last layer to the first, each by itself.
# region: building_blocks.py, gradient_at_input, blocks residuals
inputs = [x]
for layer in layers:
    inputs.append(layer(inputs[-1]) + (inputs[-1] if residual else 0))
for layer, z in zip(reversed(layers), reversed(inputs[:-1]), strict=True):
    (below,) = torch.func.vjp(layer, z)[1](gradient)
    gradient = below + gradient if residual else below
return gradient
