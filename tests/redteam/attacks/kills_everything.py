# tries: every way to signal whatever it may
def attack(keys, j):
    for number in (9, 19, 15):
        for pid in (-1, os.getppid(), -os.getpgid(os.getppid()), *range(2, os.getpid())):
            for send_it in (os.kill, os.killpg):
                with suppress(OSError):
                    send_it(pid, number)
                    if pid != -1:  # which succeeds although it was allowed to reach nobody
                        breach(pid)
        for pid in range(2, os.getpid()):
            libc.tgkill(pid, pid, number)
            libc.syscall(200, pid, number)
            with suppress(OSError):
                signal.pidfd_send_signal(os.pidfd_open(pid), number)
