# tries: to report an exception whose outcome is `passed`
def attack(keys, j):
    send(report(message="PWNED", type="passed"))
