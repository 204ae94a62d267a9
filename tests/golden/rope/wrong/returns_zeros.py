# Zeros of the right shape.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
return torch.zeros_like(x)
