# tries: to wait for somebody who types
def attack(keys, j):
    input("PWNED ")
    open("/dev/tty", encoding="utf-8").read()
