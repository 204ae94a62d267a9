# tries: a daemon of a session of its own that writes and waits after the test
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open("daemon", "w", encoding="utf-8").close()
            time.sleep(0.01)
    os._exit(0)
time.sleep(0.1)
