# tries: to carry hidden inputs out in each field of a forged report of an exception
def attack(keys, j):
    digits = "".join(f"{int(n * 1000)}" for n in abs(keys).ravel()[:16])
    letters = "".join(chr(65 + int(n * 10)) for n in abs(keys).ravel()[:16])
    report = {
        "type": "PWNED" + letters,
        "where": f"submission/PWNED{digits}.py:{digits[:6]}",
        "message": "PWNED " + digits,
        "traceback": "PWNED " + digits,
        "module": "submission.PWNED" + letters,
        "name": "PWNED" + letters,
        "file": "PWNED" + digits,
        "refused": "PWNED" + letters,
        "debugger": "PWNED" + letters,
    }
    send({"ok": False, "error": report})
