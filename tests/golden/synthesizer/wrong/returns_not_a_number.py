# Zeros divided by zeros.
# caught by: shapes, causality, plain_average, values, full_length, gradients, no_leak, batch_invariance
return (x - x) / (x - x)
