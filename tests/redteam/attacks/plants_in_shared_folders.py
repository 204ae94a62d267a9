# tries: files and folders where anyone may write
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/tmp/.X11-unix"):
    for make in (
        lambda path: open(path, "w", encoding="utf-8").write("PWNED"),
        lambda path: os.makedirs(path + ".d/sub"),
        lambda path: os.symlink("/etc/passwd", path + ".link"),
        lambda path: os.mkfifo(path + ".pipe"),
    ):
        with suppress(OSError):
            make(f"{folder}/PWNED")
os.symlink("/tmp/PWNED", os.path.dirname(os.getcwd()) + "/scratch-next")
