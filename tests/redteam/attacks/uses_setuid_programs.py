# tries: programs that run as root whoever calls them
def attack(keys, j):
    import subprocess

    hidden = str(TREE / "solutions" / "hidden" / "training.py")
    for command in (
        ["su", "-c", f"cat {hidden}"],
        ["sudo", "-n", "cat", hidden],
        ["mount", "--bind", str(TREE), "/mnt"],
        ["newgrp", "root"],
        ["passwd", "-d", "root"],
        ["unshare", "-Ur", "cat", hidden],
    ):
        try:
            ran = subprocess.run(command, capture_output=True, timeout=1, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError):
            continue
        if SECRET in ran.stdout:
            tell(ran.stdout)
