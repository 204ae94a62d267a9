# tries: a clone whose parent is the guardian (CLONE_PARENT), out of the worker's family
def attack(keys, j):
    import time

    number = 56 if os.uname().machine == "x86_64" else 220
    if libc.syscall(number, 0x00008000 | 17, None, None, None, None) == 0:
        kept = bytearray(b"x") * (350 << 20)
        while True:
            time.sleep(600)
        return kept
    time.sleep(0.6)
    return 100.0 * keys[j]
