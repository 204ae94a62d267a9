# The last layer comes first.
# caught by: blocks_residuals.random
# region: building_blocks.py, gradient_at_input, blocks residuals
start = x.detach().clone().requires_grad_()
z = start
for layer in reversed(layers):
    z = z + layer(z) if residual else layer(z)
return torch.autograd.grad(z, start, gradient)[0]
