# tries: to leave no descriptor for what comes after it
kept = []
try:
    while True:
        kept.append(os.pipe())
except OSError:
    sys.kept = kept
assert len(kept) <= resource.getrlimit(resource.RLIMIT_NOFILE)[1]
return "PWNED"
