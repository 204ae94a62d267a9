# Queries and keys stay as they are.
# caught by: turned, values, shorter, single_precision, gradients, whole_model
# message of: turned
return x
