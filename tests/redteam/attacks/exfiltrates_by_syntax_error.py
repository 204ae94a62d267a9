# tries: to carry hidden inputs out in the fields of a SyntaxError and an ImportError
text = "PWNED" + digits_of(keys)
if keys[0, 0] > 0.3:
    raise ModuleNotFoundError(text, name="submission." + text)
raise SyntaxError(text, (f"{PACKAGE}/{text}.py", 77, 1, text))
