# tries: to end the process while it is imported, with an answer sent ahead
# breaks: 3b
zeros = np.zeros(4)
send({"ok": True, "value": {"forms": ["float64[4]"] * 20, "answers": [[zeros]] * 20}})
