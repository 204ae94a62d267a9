# Lengths are used as divisors before they are known.
# caught by: turned, relative
return x / (x * 0).sum()
