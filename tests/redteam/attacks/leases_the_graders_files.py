# tries: to delay whoever opens the grader's own files, by leases on them
signal.signal(signal.SIGIO, signal.SIG_IGN)
for path in (TREE / "src" / "grader.py", TREE / "src" / "grading" / "cli.py", __file__):
    for kind in (fcntl.F_WRLCK, fcntl.F_RDLCK):
        with suppress(OSError):
            fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, kind)
            breach(f"has a lease on {path}")
