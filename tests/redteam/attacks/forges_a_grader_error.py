# tries: to have the run thrown away by claiming that the grader failed
def attack(keys, j):
    send(report(message="PWNED", type="grader error"))
