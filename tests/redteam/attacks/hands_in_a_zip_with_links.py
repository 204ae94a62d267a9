# tries: to hand in the reference by a link in a zip, or to write into it through one
# hands in: links
import stat
import zipfile

REFUSED = r"'[\w/.]+' is a link"
NAMES = ("submission", "src", "wrapping/submission", "submission/attention_exploration.py")
UPLOADS = len(NAMES)


def build(upload, tree, number):
    link = zipfile.ZipInfo(NAMES[number])
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(upload / "up.zip", "w") as writer:
        writer.writestr(link, str(tree / "solutions" / "submission"))
        writer.writestr(NAMES[number] + "/attention_exploration.py", "PWNED = True")
        writer.writestr("submission/__init__.py", "")
    return upload / "up.zip"
