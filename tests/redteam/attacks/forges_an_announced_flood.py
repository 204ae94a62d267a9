# tries: a frame that announces more bytes than there are
leave(wire.PREFIX.pack(wire.MAGIC, (1 << 32) - 1, (1 << 64) - 1) + b"{}")
