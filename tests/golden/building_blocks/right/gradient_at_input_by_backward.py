# By backward.
# region: building_blocks.py, gradient_at_input, blocks residuals
start = x.detach().clone().requires_grad_(True)
z = start
for layer in layers:
    z = layer(z) + (z if residual else 0)
z.backward(gradient)
return start.grad
