# tries: to answer in the worker's place, before the probe does, and to leave
def attack(keys, j):
    zeros = np.zeros(keys.shape[1])
    send({"ok": True, "value": {"forms": ["float64[4]"] * 40, "answers": [[zeros]] * 40}})
