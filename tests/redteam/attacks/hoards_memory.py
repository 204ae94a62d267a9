# tries: to use more memory than there is
kept = []
while True:
    kept.append(bytearray(b"x") * (40 << 20))
