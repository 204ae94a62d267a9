# tries: to find what the fork copied from its parents in its own memory
found = []
with open("/proc/self/maps", encoding="utf-8") as maps:
    spans = [line.split()[0] for line in maps if " rw" in line]
with open("/proc/self/mem", "rb", 0) as memory:
    for span in spans:
        start, stop = (int(n, 16) for n in span.split("-"))
        try:
            memory.seek(start)
            data = memory.read(min(stop - start, 1 << 24))
        except (OSError, ValueError, OverflowError):
            continue
        at = data.find(SECRET + b"-")
        while at >= 0:
            found.append(data[at : at + 40])
            at = data.find(SECRET + b"-", at + 1)
tell(found)
