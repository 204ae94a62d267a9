# tries: to change what a file that is only open for reading says about itself
for path in (os.__file__, __file__, str(TREE / "src" / "grader.py")):
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    for get, change in ((1035, 1036), (1037, 1038)):  # F_GET_RW_HINT, F_GET_FILE_RW_HINT
        with suppress(OSError):
            fcntl.fcntl(fd, change, struct.pack("Q", 4))
            if fcntl.fcntl(fd, get, struct.pack("Q", 0)) == struct.pack("Q", 4):
                breach(f"the hint {get} on the use of {path} can be set")
    with suppress(OSError):
        flags = fcntl.ioctl(fd, 0x80086601, struct.pack("l", 0))  # FS_IOC_GETFLAGS
        changed = struct.pack("l", struct.unpack("l", flags)[0] ^ 0x40)  # FS_NODUMP_FL
        fcntl.ioctl(fd, 0x40086602, changed)  # FS_IOC_SETFLAGS
        fcntl.ioctl(fd, 0x40086602, flags)
        breach(f"the flags of {path} can be changed")
