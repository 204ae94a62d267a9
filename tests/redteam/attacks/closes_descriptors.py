# tries: to close what its answer and its prints go through
os.closerange(0, 1024)
