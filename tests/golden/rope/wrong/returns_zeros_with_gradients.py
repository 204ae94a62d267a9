# Zeros that have a gradient.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
return 0.0 * x
