# tries: to fill the grader's memory with a frame that never ends
os.write(4, wire.PREFIX.pack(wire.MAGIC, 1 << 20, 1 << 28))
while True:
    os.write(4, b"PWNED" * 13_000)
