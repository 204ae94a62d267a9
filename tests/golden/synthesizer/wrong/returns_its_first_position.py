# Each position of a sequence returns the first one.
# caught by: shapes, causality, no_leak, batch_invariance
return x[:, :1].expand_as(x).clone()
