# tries: to take memory, files and time from the processes around it
for pid in range(2, os.getpid()):
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
        with suppress(OSError, ValueError):
            resource.prlimit(pid, kind, (0, 0))
            breach(pid)
