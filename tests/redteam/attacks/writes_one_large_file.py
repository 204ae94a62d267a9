# tries: a file without end
fd = os.open("PWNED", os.O_CREAT | os.O_WRONLY)
os.ftruncate(fd, 1 << 50)
