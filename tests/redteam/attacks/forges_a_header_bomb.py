# tries: a small frame that becomes gigabytes of objects in the grader
head = b'{"tree":[' + b"{}," * 9_000_000 + b'0],"arrays":[]}'
leave(wire.PREFIX.pack(wire.MAGIC, len(head), 0) + head)
