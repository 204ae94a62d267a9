# tries: to stop, so that it never ends
def attack(keys, j):
    os.kill(os.getpid(), signal.SIGSTOP)
