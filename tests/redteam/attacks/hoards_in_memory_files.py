# tries: memory that belongs to files and not to a process
def attack(keys, j):
    chunk = bytes(8 << 20)
    for number in range(50):
        fd = os.memfd_create(f"PWNED{number}")
        for _ in range(1):
            os.write(fd, chunk)
    return 100.0 * keys[j]
