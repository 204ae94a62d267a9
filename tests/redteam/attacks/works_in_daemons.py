# tries: to use CPU time in daemons, which nobody measures as the worker's
for _ in range(4):
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
        os._exit(0)
time.sleep(600)
