# tries: to flood the terminal, the results file and the grader's memory
line = b"PWNED " * 10_000
while True:
    os.write(1, line)
