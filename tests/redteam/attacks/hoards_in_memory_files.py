# tries: memory that belongs to files and not to a process
for number in range(50):
    os.write(os.memfd_create(f"PWNED{number}"), bytes(8 << 20))
return 100.0 * keys[j]
