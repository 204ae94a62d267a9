# tries: a frame that announces more bytes than there are
os.write(4, wire.PREFIX.pack(wire.MAGIC, (1 << 32) - 1, (1 << 64) - 1) + b"{}")
os._exit(0)
