# tries: to have the kernel send its guardian a signal, as the owner of a pipe (F_SETOWN)
reader, writer = os.pipe()
for number in (9, 19):
    for target in (os.getppid(), -1):
        with suppress(OSError):
            fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            fcntl.fcntl(reader, fcntl.F_SETOWN, target)
            fcntl.fcntl(reader, 10, number)  # F_SETSIG
            os.write(writer, b"x")
