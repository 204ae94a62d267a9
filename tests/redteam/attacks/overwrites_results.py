# tries: to write the results itself
for path in (TREE / "out" / "results.json", TREE / "out" / "results.json.tmp"):
    for way in ("w", "r+"):
        with suppress(OSError):
            open(path, way, encoding="utf-8").write('{"score": 100, "PWNED": 1}')
os.replace(__file__, TREE / "out" / "results.json")
