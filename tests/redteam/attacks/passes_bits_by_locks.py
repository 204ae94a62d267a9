# tries: to tell another submission something by locks on a file that both may read
path = os.__file__  # each bit is a byte of it, locked or not
holds, asks = open(path, "rb"), open(path, "rb")  # two submissions' open files differ likewise
get, set_own, set_posix = 36, 37, fcntl.F_SETLK  # F_OFD_GETLK, F_OFD_SETLK


def lock(byte):
    return struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0)


def is_locked(byte, command):
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    return struct.unpack("hhqqi", fcntl.fcntl(asks, command, asked))[0] == fcntl.F_RDLCK


for set_lock in (set_own, set_posix):
    with suppress(OSError):
        fcntl.fcntl(holds, set_lock, lock(5))
        if is_locked(5, get) and not is_locked(6, get):
            breach(f"a lock by command {set_lock} is seen")
with suppress(OSError):
    fcntl.fcntl(holds, set_own, lock(5))
    if is_locked(5, fcntl.F_GETLK):
        breach("a lock is seen by F_GETLK")
try:
    fcntl.flock(holds, fcntl.LOCK_EX)
    fcntl.flock(asks, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    breach("a lock by flock is seen")
