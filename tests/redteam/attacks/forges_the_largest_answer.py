# tries: to fill a small container from outside a worker, by an answer as large as may be
head = b'{"tree":[' + b"{}," * 174_000 + b'0],"arrays":[["|u1",[67108864]]]}'
os.write(4, wire.PREFIX.pack(wire.MAGIC, len(head), 64 << 20))
for part in (head, *[bytes(1 << 20)] * 64):
    write(part)
os._exit(0)
