# One residual connection leads around all layers.
# caught by: blocks_residuals.halving, blocks_residuals.random
# region: building_blocks.py, gradient_at_input, blocks residuals
start = x.detach().clone().requires_grad_()
z = start
for layer in layers:
    z = layer(z)
return torch.autograd.grad(z + start if residual else z, start, gradient)[0]
