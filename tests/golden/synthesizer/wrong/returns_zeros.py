# Zeros of the right shape, which depend on nothing.
# caught by: shapes, causality, plain_average, values, full_length, gradients, no_leak, batch_invariance
return torch.zeros_like(x)
