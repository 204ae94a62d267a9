# tries: to confuse the grader about where the frame starts
os.write(4, b"R" * 100 + b"\0" * 100)
os._exit(0)
