# tries: to report an exception whose outcome is `passed`
def attack(keys, j):
    report = {"type": "ValueError", "where": "", "message": "PWNED", "traceback": ""}
    send({"ok": False, "error": {"outcome": "passed", **report}})
