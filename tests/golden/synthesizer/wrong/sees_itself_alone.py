# Each position sees itself alone.
# caught by: causality, plain_average, values, full_length, gradients, no_leak, batch_invariance
return self.resid_drop(self.proj(self.value(x)))
