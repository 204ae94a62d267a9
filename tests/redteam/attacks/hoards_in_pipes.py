# tries: memory that only a pipe still holds: one byte of it, which keeps the huge page around it
huge, count = 2 << 20, 16  # as many as a pipe has places
memory = mmap.mmap(-1, (count + 1) * huge, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(14)  # MADV_HUGEPAGE
first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
first += -first % huge
reader, writer = os.pipe()
for at in range(first, first + count * huge, huge):
    ctypes.memset(at, ord("x"), 1)
    if libc.vmsplice(writer, (ctypes.c_size_t * 2)(at, 1), ctypes.c_size_t(1), 0) != 1:
        return
libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(count * huge), 4)  # MADV_DONTNEED
if ctypes.string_at(first, 1) == b"\0" and os.read(reader, count) == b"x" * count:
    breach(f"a pipe holds {count} pages that are no process's")
