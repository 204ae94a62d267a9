"""Zips whose bytes depend on their content alone: sorted names, one date, fixed permissions."""

import os
import tempfile
import zipfile
from pathlib import Path

DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


def write(path: Path, files: dict[str, bytes], executable: tuple[str, ...] = ()) -> None:
    """Write a zip, whole or not at all.

    Args:
        files: contents by name in the archive.
        executable: the names that get permission to execute.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as writer, zipfile.ZipFile(writer, "w") as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name, DATE)
                info.create_system = 3  # Unix, on whatever system this runs
                info.external_attr = (0o100755 if name in executable else 0o100644) << 16
                archive.writestr(info, files[name], zipfile.ZIP_DEFLATED, compresslevel=9)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
