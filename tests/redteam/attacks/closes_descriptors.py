# tries: to close what its answer and its prints go through
def attack(keys, j):
    os.closerange(0, 1024)
