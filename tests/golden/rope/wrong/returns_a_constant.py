# One number everywhere.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
return torch.full_like(x, 0.5)
