# tries: folders deeper than whoever cleans up can follow
for _ in range(1200):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
open("PWNED", "w", encoding="utf-8").close()
