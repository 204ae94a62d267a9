# tries: to overflow the stack of C, below Python
sys.setrecursionlimit(10**9)
nested = []
for _ in range(2_000_000):
    nested = [nested]
repr(nested)
