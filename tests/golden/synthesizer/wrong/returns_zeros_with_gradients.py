# Zeros that have gradients, of the input and of every parameter.
# caught by: shapes, causality, plain_average, values, full_length, gradients, no_leak, batch_invariance
return 0.0 * self.proj(self.value(x) + self.w1(x)) + 0.0 * (
    self.w2.sum() + self.b2.sum()
)
