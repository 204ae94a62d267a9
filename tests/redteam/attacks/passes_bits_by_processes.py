# tries: to learn what another worker's processes have chosen about themselves
for ask in (os.getpgid, os.getsid):
    with suppress(OSError):
        breach(f"{ask.__name__} of another process is {ask(os.getppid())}")
before = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(before)})  # each processor is a bit, which everybody can ask for
if os.sched_getaffinity(0) != before:
    breach("a process can choose its processors")
if libc.prctl(1, 0) == 0 and libc.syscall(103, 10, None, 0) > 0:  # the kernel's messages
    breach("the kernel's messages can be read")
