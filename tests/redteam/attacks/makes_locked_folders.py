# tries: folders that are born without any permission
os.makedirs("a")
open("a/PWNED", "w", encoding="utf-8").close()
os.umask(0o777)
os.mkdir("a/b")
os.mkdir("c")
