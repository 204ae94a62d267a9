# tries: to open every file of the solutions and of the answers
def attack(keys, j):
    loot = []
    for folder, _, names in os.walk(TREE / "solutions"):
        loot += [open(os.path.join(folder, n), encoding="utf-8").read() for n in names]
    for name in (
        "hidden/training.py",
        "data/birth_test.tsv",
        "data/seed.txt",
        "submission/dataset.py",
    ):
        try:
            loot.append((TREE / "solutions" / name).read_text(encoding="utf-8"))
        except OSError:
            continue
    tell(loot)
