# tries: to read the results file that is being written
def attack(keys, j):
    loot = [p.read_text(encoding="utf-8") for p in (TREE / "out").glob("*")]
    loot.append((TREE / "out" / "results.json").read_text(encoding="utf-8"))
    tell(loot)
