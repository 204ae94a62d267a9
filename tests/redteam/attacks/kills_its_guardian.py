# tries: to kill the process that watches it and to go on
def attack(keys, j):
    os.kill(os.getppid(), 9)
    while True:
        pass
