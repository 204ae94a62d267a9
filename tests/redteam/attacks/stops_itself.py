# tries: to stop, so that it never ends
def attack(keys, j):
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)
