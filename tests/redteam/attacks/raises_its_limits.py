# tries: to lift its own limits, and then to use what they forbid
for name in [n for n in dir(resource) if n.startswith("RLIMIT_")]:
    with suppress(OSError, ValueError):
        kind = getattr(resource, name)
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept = []
while True:
    kept.append(bytearray(b"x") * (50 << 20))
