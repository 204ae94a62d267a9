# tries: to wait for somebody who types
input("PWNED ")
open("/dev/tty", encoding="utf-8").read()
