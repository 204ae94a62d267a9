# tries: to reach the solutions through links of its own in the scratch folder
def attack(keys, j):
    hidden = TREE / "solutions" / "hidden" / "training.py"
    loot = []
    for name, link in (("soft", os.symlink), ("hard", os.link)):
        try:
            link(hidden, name)
            loot.append(open(name, encoding="utf-8").read())
        except OSError:
            continue
    tell(loot)
