# tries: processes that are stopped when they should be ended
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid() if os.getpid() % 2 else 0, signal.SIGSTOP)
        time.sleep(600)
time.sleep(0.1)
