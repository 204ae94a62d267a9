# tries: a child that answers while its parent has left long ago
def attack(keys, j):
    if os.fork() == 0:
        os.setsid()
        zeros = np.zeros(keys.shape[1])
        send({"ok": True, "value": {"forms": ["x"] * 20, "answers": [[zeros]] * 20}})
    os._exit(0)
