# tries: to become another program that answers in its place
code = "import os; os.write(4, b'PWNED' * 1000); os.write(1, b'passed\\n')"
os.set_inheritable(4, True)
os.execv(sys.executable, [sys.executable, "-c", code])
