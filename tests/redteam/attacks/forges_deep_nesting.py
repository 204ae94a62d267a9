# tries: lists in lists, below and above what a reader can follow
depth = 450 if len(keys) % 2 else 20_000
head = b'{"tree":{"ok":true,"value":' + b"[" * depth + b"]" * depth + b'},"arrays":[]}'
leave(wire.PREFIX.pack(wire.MAGIC, len(head), 0) + head)
