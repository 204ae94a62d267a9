# tries: to delete or move the folder it works in
import shutil

here = os.getcwd()
open("kept", "w", encoding="utf-8").close()
for target in (here + ".PWNED", os.path.dirname(here) + "/PWNED", "/tmp/PWNED"):
    with suppress(OSError):
        os.rename(here, target)

shutil.rmtree(here, ignore_errors=True)
os.rmdir(here)
