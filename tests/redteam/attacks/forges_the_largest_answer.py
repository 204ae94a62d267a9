# tries: to fill a small container from outside a worker, by an answer as large as may be
def attack(keys, j):
    head = b'{"tree":[' + b"{}," * 174_000 + b'0],"arrays":[["|u1",[67108864]]]}'
    os.write(4, wire.PREFIX.pack(wire.MAGIC, len(head), 64 << 20))
    piece = bytes(1 << 20)
    for part in (head, *[piece] * 64):
        view = memoryview(part)
        while view:
            view = view[os.write(4, view) :]
    os._exit(0)
