# tries: to carry hidden inputs out in the name of a file that an exception passed through
exec(compile("\n" * 41 + "raise ValueError", f"{PACKAGE}/PWNED{digits_of(keys)}.py", "exec"))
