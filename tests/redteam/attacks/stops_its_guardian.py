# tries: to stop the process that watches it
os.kill(os.getppid(), signal.SIGSTOP)
time.sleep(600)
