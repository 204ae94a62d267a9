# tries: names of processes that a reader of /proc stumbles over
reader, writer = os.pipe()
names = (b"\xff\xfe) Z 1", b") Z 0 0 0 0 0", b"a\nUid:\t0 0 0 0")
for name in names:
    if os.fork() == 0:
        libc.prctl(15, name, 0, 0, 0)
        kept = bytearray(b"x") * (150 << 20)
        os.write(writer, b"x")
        time.sleep(600)
        return kept
for _ in names:
    os.read(reader, 1)  # on a busy machine, it takes a while to fill the memory
time.sleep(0.6)  # the guardian looks every 30 ms
return 100.0 * keys[j]
