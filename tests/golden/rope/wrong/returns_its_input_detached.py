# The input, without a gradient.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
return x.detach().clone()
