# tries: folders and files that can't be opened by whoever cleans up
os.makedirs("a/b/c")
open("a/b/c/PWNED", "w", encoding="utf-8").close()
for path in ("a/b/c/PWNED", "a/b/c", "a/b", "a", "."):
    os.umask(0o777)
    os.chmod(path, 0)
