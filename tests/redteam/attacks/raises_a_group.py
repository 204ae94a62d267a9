# tries: nested groups, causes without end and a traceback of a thousand frames
error = ValueError("PWNED")
for _ in range(3000):
    later = ValueError("PWNED" * 10)
    later.__context__ = error
    error = later
raise ExceptionGroup("PWNED", [error, ExceptionGroup("PWNED", [error])])
