# tries: the magic links below /proc that lead round a path
def attack(keys, j):
    hidden = str(TREE / "solutions" / "hidden" / "training.py")
    loot = []
    for root in ("self/root", "1/root", "thread-self/root", f"{os.getppid()}/root"):
        try:
            loot.append(open(f"/proc/{root}{hidden}", encoding="utf-8").read())
        except OSError:
            continue
    for pid in (os.getppid(), 1):
        try:
            loot += [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
    tell(loot)
