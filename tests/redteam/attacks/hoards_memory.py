# tries: to use more memory than there is
def attack(keys, j):
    kept = []
    while True:
        kept.append(bytearray(b"x") * (40 << 20))
