# tries: to confuse the grader about where the frame starts
leave(b"R" * 100 + b"\0" * 100)
