# tries: ptrace on its parents
for pid in (os.getppid(), 1, *range(max(2, os.getpid() - 20), os.getpid())):
    for request in (16, 0x4206):  # ATTACH, SEIZE
        if libc.ptrace(request, pid, None, None) == 0:
            breach(pid)
            return 100.0 * keys[j]
