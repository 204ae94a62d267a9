# tries: a clone whose parent is the guardian (CLONE_PARENT), out of the worker's family
number = 56 if os.uname().machine == "x86_64" else 220
reader, writer = os.pipe()
if libc.syscall(number, 0x00008000 | 17, None, None, None, None) == 0:
    kept = bytearray(b"x") * (350 << 20)
    os.write(writer, b"x")
    while True:
        time.sleep(600)
    return kept
os.read(reader, 1)  # on a busy machine, the clone takes a while to fill its memory
time.sleep(5)  # the guardian looks every 30 ms
return 100.0 * keys[j]
