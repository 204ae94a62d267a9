# tries: to carry hidden inputs out in a line number that its file doesn't have
line = 700_000 + int(abs(keys[0, 0]) * 99_999)
exec(compile("\n" * line + "raise ValueError", __file__, "exec"))
