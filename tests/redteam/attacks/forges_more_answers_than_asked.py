# tries: no answers, too few and too many
def attack(keys, j):
    count = 0 if len(keys) % 2 else 3000
    zeros = [[np.zeros(keys.shape[1])]] * count
    send({"ok": True, "value": {"forms": ["float64[4]"] * count, "answers": zeros}})
