# tries: to ask which pages of a library are in memory, and to remove them from there
path = max(  # a library that is read only in parts
    (entry.path for entry in os.scandir(os.path.dirname(np.__file__) + ".libs")),
    key=os.path.getsize,
)
fd, size = os.open(path, os.O_RDONLY), os.path.getsize(path)
page, buffer = size // 8192 * 4096, [bytearray(4096)]


def is_cached():
    try:
        return os.preadv(fd, buffer, page, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False


with suppress(OSError):
    os.pread(fd, 4096, page)
    if is_cached():
        breach("preadv2 tells whether a page is in memory")
count = ctypes.create_string_buffer(40)
of = (ctypes.c_uint64 * 2)(0, size)
if libc.syscall(451, fd, of, count, 0) == 0:  # a kernel from 6.5 to 6.14 tells everybody
    breach("cachestat tells how much of a file is in memory")
mapped = mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ)
at = ctypes.c_void_p(np.frombuffer(mapped, np.uint8).ctypes.data)
if libc.mincore(at, ctypes.c_size_t(4096), ctypes.create_string_buffer(1)) == 0:
    breach("mincore tells whether a page is in memory")
