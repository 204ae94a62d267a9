# tries: to fill the disk and the memory of the grader with an upload that is small itself
# hands in: floods
import zipfile

REFUSED = "too large|too many"
UPLOADS = 4


def build(upload, tree, number):
    package = upload / "submission"
    package.mkdir()
    (package / "__init__.py").touch()
    if number == 0:  # 12 GB that take no space
        for name in range(200):
            with open(upload / f"x{name}.params", "wb") as writer:
                writer.truncate(60 << 20)
    elif number == 1:
        for name in range(2100):
            (package / f"x{name}.py").touch()
    elif number == 2:
        with zipfile.ZipFile(upload / "up.zip", "w", zipfile.ZIP_DEFLATED) as writer:
            writer.writestr("submission/__init__.py", "")
            for name in range(6):
                writer.writestr(f"x{name}.params", bytes(60 << 20))
        return upload / "up.zip"
    else:
        header = bytearray(46)
        header[:4], header[28:30] = b"PK\1\2", (60).to_bytes(2, "little")
        listing = b"".join(bytes(header) + b"%060d" % name for name in range(400_000))
        end = b"PK\5\6" + bytes(8) + len(listing).to_bytes(4, "little") + bytes(6)
        (upload / "up.zip").write_bytes(listing + end)
        return upload / "up.zip"
