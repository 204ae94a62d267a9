# tries: two frames, of which the second claims success
def attack(keys, j):
    zeros = np.zeros(keys.shape[1])
    frame = wire.encode({"ok": True, "value": {"forms": ["x"] * 20, "answers": [[zeros]] * 20}})
    os.write(4, frame + wire.encode({"ok": True, "value": {"passed": True, "score": 1.0}}))
    os._exit(0)
