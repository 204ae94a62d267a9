# tries: more CPU time than allowed, in a chain of processes each of which is soon gone
reading, writing = os.pipe()
if os.fork() == 0:
    for _ in range(50):
        started = time.process_time()
        while time.process_time() - started < 0.05:
            pass
        os.write(writing, b"x")
        if os.fork():
            os._exit(0)
    os._exit(0)
os.close(writing)
links = 0
while got := os.read(reading, 64):
    links += len(got)
if links > 40:
    breach(f"{links} links worked for {links * 50} ms in all")
