# tries: threads that write forged frames into the real one
frame = wire.encode({"ok": True, "value": {"passed": True}})
for _ in range(8):
    threading.Thread(target=lambda: [os.write(4, frame) for _ in range(100)]).start()
