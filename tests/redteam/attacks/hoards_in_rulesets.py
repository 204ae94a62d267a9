# tries: memory of the kernel's: rules of Landlock, whose number is not limited
ruleset = libc.syscall(444, struct.pack("=QQ", 0, 3), 16, 0)
if ruleset < 0:
    return
for port in range(1000):
    libc.syscall(445, ruleset, 2, struct.pack("=QQ", 1, port), 0)
breach("made a ruleset of a thousand rules")
