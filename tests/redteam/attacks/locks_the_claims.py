# tries: to take all claims of uids, which root's graders keep in a file that a guardian has open
for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT):
    with suppress(OSError):
        breach(f"opened the claims as {os.open('/run/grading-uids', flags)}")
for fd in range(256):
    with suppress(OSError):
        if "grading-uids" in os.readlink(f"/proc/self/fd/{fd}"):
            breach(f"inherited the claims as {fd}")
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
