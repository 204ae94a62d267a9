# tries: memory held by a thread whose process looks dead, since its first thread has ended
def hoard():
    time.sleep(0.05)  # by then it has
    populated = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    kept = mmap.mmap(-1, 400 << 20, populated)
    time.sleep(0.3)
    breach(f"held {len(kept) >> 20} MB")
    os._exit(0)


threading.Thread(target=hoard).start()
libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # ends this thread alone
