# tries: to write the results itself
def attack(keys, j):
    for path in (TREE / "out" / "results.json", TREE / "out" / "results.json.tmp"):
        for way in ("w", "r+"):
            try:
                open(path, way, encoding="utf-8").write('{"score": 100, "PWNED": 1}')
            except OSError:
                continue
    os.replace(__file__, TREE / "out" / "results.json")
