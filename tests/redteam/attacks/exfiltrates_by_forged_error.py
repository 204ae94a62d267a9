# tries: to carry hidden inputs out in each field of a forged report of an exception
def attack(keys, j):
    digits = "".join(f"{int(n * 1000)}" for n in abs(keys).ravel()[:16])
    letters = "".join(chr(65 + int(n * 10)) for n in abs(keys).ravel()[:16])
    report = {
        "outcome": "error",
        "type": "PWNED" + letters,
        "where": f"submission/PWNED{digits}.py:{digits[:6]}",
        "message": "PWNED " + digits,
        "traceback": "PWNED " + digits,
    }
    send({"ok": False, "error": report})
