# One number everywhere.
# caught by: shapes, causality, plain_average, values, full_length, gradients, no_leak, batch_invariance
return torch.full_like(x, 0.5)
