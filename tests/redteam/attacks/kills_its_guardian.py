# tries: to kill the process that watches it and to go on
os.kill(os.getppid(), 9)
while True:
    pass
