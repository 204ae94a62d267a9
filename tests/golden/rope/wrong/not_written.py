# Nothing is written.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
raise NotImplementedError
