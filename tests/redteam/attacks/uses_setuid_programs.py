# tries: programs that run as root whoever calls them
for command in (
    ["su", "-c", f"cat {HIDDEN}"],
    ["sudo", "-n", "cat", HIDDEN],
    ["mount", "--bind", str(TREE), "/mnt"],
    ["newgrp", "root"],
    ["passwd", "-d", "root"],
    ["unshare", "-Ur", "cat", HIDDEN],
):
    try:
        ran = subprocess.run(command, capture_output=True, timeout=1, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        continue
    if SECRET in ran.stdout:
        tell(ran.stdout)
