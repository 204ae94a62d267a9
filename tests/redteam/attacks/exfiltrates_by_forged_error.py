# tries: to carry hidden inputs out in each field of a forged report of an exception
digits = digits_of(keys)
letters = "PWNED" + "".join(chr(65 + int(n * 10)) for n in abs(keys).ravel()[:16])
names = dict.fromkeys(("type", "name", "refused", "debugger"), letters)
where = f"submission/PWNED{digits}.py:{digits[:6]}"
send(report("PWNED " + digits, where=where, module="submission." + letters, **names))
