# tries: to take the staged files from the tests to come, without opening them
for path in (__file__, PACKAGE, os.path.dirname(PACKAGE), str(TREE / "src"), str(TREE)):
    for change in (
        lambda path: os.chmod(path, 0),
        lambda path: os.utime(path, (0, 0)),
        lambda path: os.chown(path, os.getuid(), 0),
        lambda path: os.setxattr(path, "user.PWNED", b"1"),
        lambda path: os.truncate(path, 0),
        lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0),
    ):
        with suppress(OSError):
            change(path)
