# tries: to pass off a crash as code that isn't written yet, with inputs in its text
def attack(keys, j):
    raise NotImplementedError(f"PWNED {keys.tolist()}")
