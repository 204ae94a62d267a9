# tries: memory in shared mappings, which remains when the process drops it and is in none then
part, parts, dropped = 40 << 20, 8, 4  # MADV_DONTNEED
write = mmap.PROT_READ | mmap.PROT_WRITE
kept = []


def hoard(fd, protection):
    for _ in range(parts):
        kept.append(mmap.mmap(fd, part, mmap.MAP_SHARED | mmap.MAP_POPULATE, protection))
        kept[-1].madvise(dropped)
    time.sleep(0.1)
    breach(f"held {part * parts >> 20} MB")


for way in (
    lambda: hoard(-1, write),
    lambda: hoard(os.open("/dev/zero", os.O_RDWR), write),
    lambda: hoard(os.open("/dev/zero", os.O_RDONLY), mmap.PROT_READ),
):
    with suppress(OSError):
        way()
