# tries: to blow up the results file and the terminal with one long field
def attack(keys, j):
    text = "PWNED" * 600_000
    fields = "where message traceback module name file refused debugger".split()
    send({"ok": False, "error": {**dict.fromkeys(fields, text), "type": "ValueError"}})
