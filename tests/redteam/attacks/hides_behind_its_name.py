# tries: names of processes that a reader of /proc stumbles over
for name in (b"\xff\xfe) Z 1", b") Z 0 0 0 0 0", b"a\nUid:\t0 0 0 0"):
    if os.fork() == 0:
        libc.prctl(15, name, 0, 0, 0)
        kept = bytearray(b"x") * (150 << 20)
        time.sleep(600)
        return kept
time.sleep(0.6)
return 100.0 * keys[j]
