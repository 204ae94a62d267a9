# tries: to delete or move the folder it works in
def attack(keys, j):
    here = os.getcwd()
    open("kept", "w", encoding="utf-8").close()
    for target in (here + ".PWNED", os.path.dirname(here) + "/PWNED", "/tmp/PWNED"):
        with suppress(OSError):
            os.rename(here, target)
    import shutil

    shutil.rmtree(here, ignore_errors=True)
    os.rmdir(here)
