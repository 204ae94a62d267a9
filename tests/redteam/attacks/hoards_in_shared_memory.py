# tries: memory that outlives its process: System V, POSIX and message queues
if libc.shmget(0x50574E, 1 << 20, 0o1666) >= 0:
    sys.stderr.write("PWNED")
libc.msgget(0x50574E, 0o1666)
libc.semget(0x50574E, 4, 0o1666)
for name in ("/dev/shm/PWNED", "/dev/mqueue/PWNED"):
    open(name, "wb").write(bytes(1 << 20))
