# The result has no sequences.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
return x[:0]
