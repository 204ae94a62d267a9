# tries: to carry hidden inputs out in the name of an exception's class
def attack(keys, j):
    digits = "".join(chr(65 + int(n * 10)) for n in abs(keys).ravel()[:16])
    kind = type("PWNED" + digits, (ValueError,), {"__module__": "builtins"})
    import builtins

    setattr(builtins, kind.__name__, kind)  # now it is a built-in exception, isn't it?
    raise kind("PWNED")
