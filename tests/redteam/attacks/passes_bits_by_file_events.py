# tries: to notice which library another submission opens, by inotify, fanotify and F_NOTIFY
folder = os.path.dirname(os.__file__)
fd = libc.inotify_init1(os.O_NONBLOCK)
if fd >= 0:
    libc.inotify_add_watch(fd, folder.encode(), 0x20)  # IN_OPEN
    open(os.__file__, "rb").close()
    if len(os.read(fd, 4096)) >= struct.calcsize("iIII"):
        breach("inotify tells who opens a file")
if libc.fanotify_init(0x200, os.O_RDONLY) >= 0:  # FAN_REPORT_FID, for everybody
    breach("fanotify works")
heard = []
signal.signal(signal.SIGIO, lambda *_: heard.append(1))
with suppress(OSError):
    fcntl.fcntl(os.open(folder, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    os.read(os.open(os.__file__, os.O_RDONLY), 1)
if heard:
    breach("F_NOTIFY tells who reads a file")
