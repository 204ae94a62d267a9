# tries: to change the grader, the points and the answers for the tests and runs to come
for path in (
    "src/grader.py",
    "src/grading/cases.py",
    "src/grading/worker.py",
    "assignment.toml",
    "solutions/hidden/training.py",
    "src/data/birth_dev.tsv",
    "src/PWNED.py",
):
    with suppress(OSError):
        open(TREE / path, "a", encoding="utf-8").write("PWNED\n")
os.unlink(HIDDEN)
