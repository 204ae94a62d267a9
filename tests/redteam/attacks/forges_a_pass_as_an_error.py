# tries: to report an exception whose outcome is `passed`
def attack(keys, j):
    report = dict.fromkeys("where traceback module name file refused debugger".split(), "")
    report |= {"type": "passed", "message": "PWNED"}
    send({"ok": False, "error": report})
    send({"ok": False, "error": {"outcome": "passed", **report}})
