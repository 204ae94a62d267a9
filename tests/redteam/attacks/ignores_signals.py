# tries: to outlive its limits by handling every signal that can be handled
def attack(keys, j):
    import signal

    for number in range(1, 65):
        try:
            signal.signal(number, lambda *_: None)
        except (OSError, ValueError):
            continue
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    while True:
        pass
