# tries: to delay whoever opens the grader's own files, by leases on them
def attack(keys, j):
    import fcntl
    import signal

    signal.signal(signal.SIGIO, signal.SIG_IGN)
    for path in (TREE / "src" / "grader.py", TREE / "src" / "grading" / "cli.py", __file__):
        for kind in (fcntl.F_WRLCK, fcntl.F_RDLCK):
            try:
                fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, kind)
                breach(f"has a lease on {path}")
            except OSError:
                continue
