# tries: to blow up the results file and the terminal with one long field
def attack(keys, j):
    send(report("PWNED" * 600_000))
