# The gradient of the sum of all outputs.
# caught by: blocks_residuals.halving, blocks_residuals.no_layer_does_anything, blocks_residuals.random
# region: building_blocks.py, gradient_at_input, blocks residuals
start = x.detach().clone().requires_grad_()
z = start
for layer in layers:
    z = z + layer(z) if residual else layer(z)
return torch.autograd.grad(z.sum(), start)[0]
