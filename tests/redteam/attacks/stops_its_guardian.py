# tries: to stop the process that watches it
def attack(keys, j):
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(600)
