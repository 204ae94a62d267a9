# tries: to blow up the results file and the terminal with one long field
def attack(keys, j):
    text = "PWNED" * 600_000
    report = {"outcome": "error", "type": "ValueError", "where": text, "message": text}
    send({"ok": False, "error": {**report, "traceback": text}})
