# tries: to stop, so that it never ends
os.kill(os.getpid(), signal.SIGSTOP)
