# tries: to let cat, find and a second Python read the solutions
def attack(keys, j):
    import subprocess

    hidden = str(TREE / "solutions" / "hidden" / "training.py")
    loot = []
    for command in (
        ["cat", hidden],
        ["find", str(TREE / "solutions")],
        [sys.executable, "-c", f"print(open({hidden!r}).read())"],
        ["tar", "c", str(TREE / "solutions")],
    ):
        try:
            loot.append(subprocess.run(command, capture_output=True, timeout=2).stdout)
        except (OSError, subprocess.SubprocessError):
            continue
    tell(loot)
