# tries: to have the run thrown away by claiming that the grader failed
def attack(keys, j):
    report = dict.fromkeys("where traceback module name file refused debugger".split(), "")
    report |= {"type": "grader error", "message": "PWNED"}
    send({"ok": False, "error": report})
    send({"ok": False, "error": {"outcome": "grader error", **report}})
