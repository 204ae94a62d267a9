# tries: to outlive its limits by handling every signal that can be handled
for number in range(1, 65):
    with suppress(OSError, ValueError):
        signal.signal(number, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
while True:
    pass
