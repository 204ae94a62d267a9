# tries: to leave an answer behind and to die of a signal
def attack(keys, j):
    zeros = np.zeros(keys.shape[1])
    os.write(
        4, wire.encode({"ok": True, "value": {"forms": ["x"] * 20, "answers": [[zeros]] * 20}})
    )
    os.kill(os.getpid(), 9)
