"""Makes a class as a plain folder, or as a zip of it, for a single test."""

import os
import zipfile

from tests.classroom.contents import Content, Link

RIGHT = Content("right", "", {"submission/a.py": b"x = 1\n"})


def lay_out(folder, content):
    folder.mkdir(parents=True)
    for name, text in (content.files or {"upload.zip": content.packed}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, Link):
            (folder / name).symlink_to(text.target)
        elif text is not None:
            (folder / name).write_bytes(text)


def pack(source):
    """Return the folder as a zip that keeps empty folders and links."""
    target = source.with_suffix(".zip")
    with zipfile.ZipFile(target, "w") as writer:
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source).as_posix()
            if path.is_symlink():
                info = zipfile.ZipInfo(name)
                info.external_attr = 0o120777 << 16
                writer.writestr(info, os.readlink(path))
            else:
                writer.write(path, name)
    return target


def in_order(export, *names):
    """Return the submissions of a plain folder, in the order of these names."""
    found = {one.students[0].name: one for one in export.submissions}
    assert found.keys() == set(names)
    return [found[name] for name in names]
