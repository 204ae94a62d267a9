# The first number of the batch, everywhere.
# caught by: shapes, causality, no_leak, batch_invariance
return x[0, 0, 0].expand_as(x) + 0 * x
